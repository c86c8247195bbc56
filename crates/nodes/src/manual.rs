//! The manual: the entry of one node type as text, and all entries as one document.
//!
//! An entry is generated from the definition alone. Sockets that depend on settings are shown for
//! the default settings.

use std::fmt::Write as _;
use std::sync::Arc;

use millstream_base::Type;
use millstream_form::{Accuracy, Op};
use millstream_node::Zone;
use millstream_node::convert::CONVERT;
use millstream_node::interface::{CALL, CLOSURE};
use millstream_node::{
    Among, Default, Kernel, NodeDef, Registry, ScopeRule, SettingValue, Settings, SocketType,
};
use millstream_node::{settings::Setting, settings::SettingKind};
use millstream_node::{signature::Generic, signature::Signature, signature::Socket};

/// Columns of prose.
const WIDTH: usize = 80;

/// The manual entry of a node type, ending in a line break.
///
/// ```
/// let registry = millstream_nodes::registry();
/// let entry = millstream_nodes::manual::entry(registry.get("math.sqrt").expect("in the library"));
/// assert!(entry.starts_with("math.sqrt: The square root\n"));
/// ```
pub fn entry(def: &Arc<NodeDef>) -> String {
    let mut out = format!("{}: {}\n", def.name, def.manual.summary);
    let mut facts = format!("version {}, {}", def.version, def.class);
    let settings = Settings::read(&def.settings, [], &|_| None).ok();
    let signature = settings.as_ref().and_then(|settings| def.signature(settings).ok());
    if let (Some(settings), Some(signature)) = (&settings, &signature) {
        for need in needs(def, settings, signature) {
            write!(facts, ", reads {need}").expect("strings take all text");
        }
    }
    rows(&mut out, &[(facts, String::new())]);
    match &signature {
        Some(signature) => sockets(&mut out, def, signature),
        None => paragraphs(&mut out, "The sockets depend on the settings."),
    }
    if !def.settings.is_empty() {
        out.push_str("\n  settings\n");
        let lines: Vec<_> = def.settings.iter().flat_map(setting_lines).collect();
        rows(&mut out, &lines);
    }
    if !def.manual.details.is_empty() {
        paragraphs(&mut out, &def.manual.details);
    }
    if let (Some(settings), Some(signature)) = (&settings, &signature)
        && let Some(stated) = accuracy(def, settings, signature)
    {
        let text = format!(
            "The error is at most {} ULP in `f32` and {} ULP in `f64`.",
            stated.f32, stated.f64
        );
        paragraphs(&mut out, &text);
    }
    if !def.manual.source.is_empty() {
        paragraphs(&mut out, &format!("Source: {}.", def.manual.source));
    }
    out
}

/// The entries of all node types as one Markdown document, family by family.
pub fn document(registry: &Registry) -> String {
    let mut out = String::from(
        "# Node manual\n\nGenerated from the definitions; `millstream nodes NAME` shows one \
         entry.\n",
    );
    let mut family = "";
    // Zones have a notation of their own, so they come last.
    let zones = Zone::NAMES.iter().chain(&[CLOSURE, CALL]).filter_map(|name| registry.get(name));
    for def in registry.iter().chain(zones) {
        if def.family() != family {
            family = def.family();
            write!(out, "\n## {family}\n").expect("strings take all text");
            // The node that the compiler inserts opens the family of conversions.
            let opening = registry.get(CONVERT).filter(|_| family == CONVERT);
            entries(&mut out, opening);
        }
        entries(&mut out, [def]);
    }
    out
}

fn entries<'d>(out: &mut String, defs: impl IntoIterator<Item = &'d Arc<NodeDef>>) {
    for def in defs {
        write!(out, "\n```text\n{}```\n", entry(def)).expect("strings take all text");
    }
}

/// The kernel of an instance with preferred types.
fn kernel(def: &Arc<NodeDef>, settings: &Settings, signature: &Signature) -> Option<Kernel> {
    let preferred = |generic: &Generic| {
        let candidates = generic.among.candidates();
        *candidates.iter().find(|ty| **ty == Type::F32).unwrap_or(&candidates[0])
    };
    let generics = signature.generics.iter().map(preferred).collect();
    let arities = vec![1; signature.inputs.len()];
    Some(def.instantiate(settings.clone(), generics, &arities).ok()?.kernel)
}

/// The stated accuracy of a node that computes one elementary function and nothing else.
fn accuracy(def: &Arc<NodeDef>, settings: &Settings, signature: &Signature) -> Option<Accuracy> {
    let Some(Kernel::Form(form)) = kernel(def, settings, signature) else { return None };
    let [result] = form.results[..] else { return None };
    let inst = &form.insts[result];
    let of_inputs = inst.args().iter().all(|arg| matches!(form.insts[*arg].op, Op::Param(_)));
    inst.op.accuracy().filter(|_| of_inputs)
}

/// The context features that the kernel of an instance with preferred types reads.
fn needs(def: &Arc<NodeDef>, settings: &Settings, signature: &Signature) -> Vec<String> {
    if !def.reads.is_empty() {
        return def.reads.iter().map(ToString::to_string).collect();
    }
    let Some(kernel) = kernel(def, settings, signature) else { return Vec::new() };
    match kernel {
        Kernel::Read { feature, level, aspect } => {
            vec![millstream_base::Need { feature, level, aspect }.to_string()]
        }
        Kernel::Form(_)
        | Kernel::Function(_)
        | Kernel::Pass
        | Kernel::Choose
        | Kernel::ReadState(_) => Vec::new(),
    }
}

fn sockets(out: &mut String, def: &NodeDef, signature: &Signature) {
    if def.fixed_signature().is_none() {
        paragraphs(out, "Sockets with the default settings:");
    }
    if !signature.inputs.is_empty() {
        out.push_str("\n  inputs\n");
        let lines: Vec<_> =
            signature.inputs.iter().flat_map(|socket| input_lines(signature, socket)).collect();
        rows(out, &lines);
    }
    out.push_str("\n  outputs\n");
    let outputs = signature.outputs.iter();
    let lines: Vec<_> = outputs
        .map(|socket| {
            let ty = type_text(signature, socket.ty);
            let needs = socket.needs.map(|names| match names {
                [] => "needs no input".to_string(),
                names => format!("needs only `{}`", names.join("`, `")),
            });
            let about = Some(socket.about.to_string()).filter(|about| !about.is_empty());
            let about: Vec<String> = about.into_iter().chain(needs).collect();
            (format!("{}: {ty}", socket.name), about.join("; "))
        })
        .collect();
    rows(out, &lines);
    if !signature.generics.is_empty() {
        out.push_str("\n  types\n");
        let lines: Vec<_> = signature
            .generics
            .iter()
            .map(|generic| (generic.name.to_string(), among_text(generic.among)))
            .collect();
        rows(out, &lines);
    }
}

fn input_lines(signature: &Signature, socket: &Socket) -> Vec<(String, String)> {
    let mut head = format!("{}: {}", socket.name, type_text(signature, socket.ty));
    match &socket.default {
        Default::Required => {}
        Default::Zero => head.push_str(" = zero"),
        Default::Number(x) => write!(head, " = {x}").expect("strings take all text"),
        Default::Value(value) => write!(head, " = {value}").expect("strings take all text"),
    }
    if socket.multiple {
        head.push_str(", several");
    }
    let mut about = Vec::new();
    if !socket.about.is_empty() {
        about.push(socket.about.to_string());
    }
    if matches!(socket.default, Default::Required) && !socket.multiple {
        about.push("required".to_string());
    }
    if socket.lazy {
        about.push("computed only on demand".to_string());
    }
    about.extend(socket.scope.iter().map(|rule| scope_text(signature, rule)));
    vec![(head, about.join("; "))]
}

fn type_text(signature: &Signature, ty: SocketType) -> String {
    match ty {
        SocketType::Exact(ty) => ty.to_string(),
        SocketType::Generic(g) => signature.generics[g as usize].name.to_string(),
        SocketType::ListOf(g) => format!("list<{}>", signature.generics[g as usize].name),
        SocketType::Made => "as computed".to_string(),
    }
}

fn among_text(among: Among) -> String {
    match among {
        Among::These(types) => types.iter().map(|ty| ty.name()).collect::<Vec<_>>().join(", "),
        Among::Any | Among::AnyOr(_) | Among::Own => "any type".to_string(),
    }
}

fn scope_text(signature: &Signature, rule: &ScopeRule) -> String {
    let input = |i: u16| &signature.inputs[i as usize].name;
    match rule {
        ScopeRule::Inject { feature, value } => {
            format!("evaluated with `{feature}` set to `{}`", input(*value))
        }
        ScopeRule::Each { feature, count } => format!(
            "evaluated for each `{feature}` from 0 to `{}` - 1, received as a list",
            input(*count)
        ),
        ScopeRule::Modify { feature, args, .. } => {
            let args: Vec<String> = args.iter().map(|arg| format!("`{}`", input(*arg))).collect();
            let by = if args.is_empty() { "" } else { " by " };
            format!("evaluated with `{feature}` changed{by}{}", args.join(", "))
        }
        ScopeRule::Along { feature, level: 0 } => {
            format!("evaluated along the axis of `{feature}`, received as a list")
        }
        ScopeRule::Along { feature, level } => {
            format!("evaluated along the axis of `{feature}`, level {level}, received as a list")
        }
    }
}

/// The line of a setting, followed by the lines of its choices.
fn setting_lines(setting: &Setting) -> Vec<(String, String)> {
    let kind = match &setting.kind {
        SettingKind::Choice(_) => "a choice".to_string(),
        SettingKind::Text
        | SettingKind::Integer(..)
        | SettingKind::Number
        | SettingKind::Flag
        | SettingKind::Type
        | SettingKind::Texts
        | SettingKind::Numbers => setting.kind.to_string(),
    };
    let mut head = format!("{}: {kind}", setting.name);
    match &setting.default {
        Some(SettingValue::Text(text)) if matches!(setting.kind, SettingKind::Choice(_)) => {
            write!(head, " = {text}").expect("strings take all text");
        }
        Some(value) => write!(head, " = {}", value.to_json()).expect("strings take all text"),
        None => {}
    }
    let about = match setting.default {
        Some(_) => setting.about.to_string(),
        None => format!("{}; required", setting.about),
    };
    let mut lines = vec![(head, about)];
    if let SettingKind::Choice(choices) = &setting.kind {
        let choice = |(name, about): &(&str, &str)| (format!("  {name}"), (*about).to_string());
        lines.extend(choices.iter().map(choice));
    }
    lines
}

/// Two columns, the second one aligned.
fn rows(out: &mut String, lines: &[(String, String)]) {
    let width = lines.iter().map(|(head, _)| head.chars().count()).max().unwrap_or(0);
    for (head, about) in lines {
        let line = format!("    {head:width$}  {about}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Prose after an empty line, wrapped at blanks but not inside backticks.
fn paragraphs(out: &mut String, text: &str) {
    for paragraph in text.split("\n\n") {
        out.push('\n');
        let mut column = 0;
        for word in words(paragraph) {
            let n_chars = word.chars().count();
            if column > 0 && column + 1 + n_chars > WIDTH {
                out.push('\n');
                column = 0;
            }
            let blank = if column == 0 { "  " } else { " " };
            out.push_str(blank);
            out.push_str(word);
            column += blank.len() + n_chars;
        }
        out.push('\n');
    }
}

/// The words of a paragraph; text in backticks is one word.
fn words(paragraph: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let blank = move |c: char| {
        in_code ^= c == '`';
        c.is_whitespace() && !in_code
    };
    paragraph.split(blank).filter(|word| !word.is_empty())
}
