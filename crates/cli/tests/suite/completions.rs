//! `millstream completions` and `millstream man`: nothing in the help is missing.

use std::process::Command;

use crate::{code, file, millstream, new_file, seen};

/// The verbs that the help lists.
pub(crate) fn verbs() -> Vec<String> {
    let help = seen(&["--help"]);
    let list = help.split_once("Commands:\n").expect("there are verbs").1;
    let lines = list.lines().take_while(|line| !line.is_empty());
    let verbs = lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    verbs.filter(|verb| verb != "help").collect()
}

/// The long flags of a verb.
fn flags(verb: &str) -> Vec<String> {
    let help = seen(&[verb, "--help"]);
    let options = help.split_once("Options:\n").expect("there are options").1;
    let words = options.lines().filter_map(|line| {
        let start = line.trim_start();
        let is_flag = start.starts_with('-') && line.len() - start.len() <= 6;
        let long = start.split_whitespace().find(|word| word.starts_with("--"));
        long.filter(|_| is_flag)
    });
    let is_end = |c: char| matches!(c, ',' | '[' | '=');
    words.filter_map(|word| word.split(is_end).next()).map(str::to_owned).collect()
}

#[test]
fn help_wraps_at_a_width_that_can_be_read() {
    for verb in verbs() {
        for line in seen(&[&verb, "--help"]).lines() {
            assert!(line.chars().count() <= 100, "{verb}: {line}");
        }
    }
}

#[test]
fn scripts_complete_every_verb_and_flag() {
    let verbs = verbs();
    assert!(verbs.len() > 8 && verbs.contains(&"completions".to_owned()), "{verbs:?}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = seen(&["completions", shell]);
        for verb in &verbs {
            assert!(script.contains(verb.as_str()), "{shell} {verb}");
            for flag in flags(verb) {
                // Fish and PowerShell have their own notation for flags.
                let name = flag.trim_start_matches('-');
                assert!(script.contains(name), "{shell} {verb} {flag}");
            }
        }
    }
    assert_eq!(code(&["completions", "cmd"]), Some(2));
}

#[test]
#[cfg(unix)]
fn bash_completes_values_of_flags() {
    let script = file("completions.bash", &seen(&["completions", "bash"]));
    let complete = |words: &str| {
        let last = words.split(' ').count() - 1;
        let line = format!(
            "source '{script}'; COMP_WORDS=({words}); COMP_CWORD={last}; \
             _millstream millstream \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{}]}}\"; \
             echo \"${{COMPREPLY[@]}}\"",
            last - 1
        );
        let ran = Command::new("bash").args(["-c", &line]).output().expect("there is bash");
        String::from_utf8(ran.stdout).expect("text").trim().to_owned()
    };
    assert_eq!(complete("millstream comp"), "completions");
    assert_eq!(complete("millstream run --evaluator laz"), "lazy");
    assert_eq!(complete("millstream nodes --sear"), "--search");
}

#[test]
fn every_verb_has_a_manual_page_with_its_flags_and_examples() {
    let folder = new_file("man").join("man1");
    let path = folder.display().to_string();
    let written = millstream(&["man", &path]);
    assert_eq!(written.status.code(), Some(0));
    let names = String::from_utf8(written.stdout).expect("names are UTF-8");
    let verbs = verbs();
    assert_eq!(names.lines().count(), verbs.len() + 1, "{names}");
    for verb in &verbs {
        let page = std::fs::read_to_string(folder.join(format!("millstream-{verb}.1")));
        let page = page.expect("there is a page").replace("\\-", "-");
        for flag in flags(verb) {
            assert!(page.contains(&flag), "{verb} {flag}");
        }
        assert!(page.contains(".SH EXAMPLES\n.nf\n\\&  millstream "), "{page}");
    }
    let page = std::fs::read_to_string(folder.join("millstream.1")).expect("there is a page");
    assert!(page.contains("Exit codes:"), "{page}");
    let taken = file("not_a_folder", "");
    assert_eq!(code(&["man", &taken]), Some(3));
}
