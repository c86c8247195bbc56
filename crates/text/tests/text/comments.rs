//! Comments survive formatting and conversion, wherever they stand.

use millstream_document::save;
use millstream_text::{format, to_text};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{REGISTRY, document, formatted, from_json, limits};

/// Texts with every kind of statement; a comment may stand at each `~` and ends its line.
const TEXTS: [&str; 6] = [
    "~input a: f32 = 1~\n~\noutput y: f32 = a + 1~\n~",
    "~\nmillstream 2~\nname \"n\"~\n~\nfps 30~\nuse w = \"w.mill\"~\nlock w = 2 \"sha256:0\"~\n\
     ~x = w/g(a: 1)~\noutput x: f32~",
    "a = math.add(~\n  1,~\n  ~\n  b: 2,~\n)~\n~\noutput a: f32 = (~\n a ~\n + ~\n 1)~\n",
    "~\ngroup f(~\n x: f32,~\n y: f32~\n) -> (~\n z: f32 ~\n ) {~\n~\n  \"about\"~\n~\n  z = x * y~\n~\n}~\n~\n\
     c = f(x: 1, y: 2)~\n",
    "l = list.range(0, 1, count: 3)~\n~\nb = for_each(x: f32 of l,~\n count: i32 = 1~\n) -> y: f32 {~\n~\n  y = x~\n~\n\
     \n}~\n~\noutput y: list<f32> = b.y~\n",
    "a = several_of~\n~several_of = list.of(items: [1,~\n 2~\n ])~\nview { \"k\": [1, 2] }~\n~\n",
];

/// The text of a comment after its `#`.
fn comment() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just(String::new()),
        1 => "[ \t]{1,3}",
        4 => "[ \t]{0,3}[a-z#!{}\"`\\\\=]{1,6}( [a-z]{1,3})?[ ]{0,2}",
        1 => "[!#]{1,3} ?[a-z]{0,3}",
    ]
}

/// A text with comments at its places, and these comments in order.
fn with_comments(text: &str, comments: &[Option<String>], is_crlf: bool) -> (String, Vec<String>) {
    let mut comments = comments.iter().cycle();
    let (mut out, mut written) = (String::new(), Vec::new());
    let mut pieces = text.split('~').peekable();
    while let Some(piece) = pieces.next() {
        out.push_str(piece);
        if pieces.peek().is_none() {
            break;
        }
        if let Some(comment) = comments.next().and_then(Option::as_ref) {
            out.push('#');
            out.push_str(comment);
            written.push(format!("#{}", comment.trim()));
            let ends = pieces.peek().is_some_and(|rest| rest.starts_with('\n') || rest.is_empty());
            out.push_str(if ends { "" } else { "\n" });
        }
    }
    (if is_crlf { out.replace('\n', "\r\n") } else { out }, written)
}

/// The comments of a text in order, without the blanks after `#`. No text in quotes has a `#`.
fn comments_of(text: &str) -> Vec<String> {
    let comments = text.lines().filter_map(|line| line.split_once('#'));
    comments.map(|(_, comment)| format!("#{}", comment.trim())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn comments_survive(
        text in prop::sample::select(&TEXTS[..]),
        comments in vec(proptest::option::weighted(0.6, comment()), 1..24),
        is_crlf in any::<bool>(),
    ) {
        let (text, mut written) = with_comments(text, &comments, is_crlf);
        let laid_out = formatted(&text);
        prop_assert_eq!(comments_of(&laid_out), written.clone(), "{}\n{}", text, laid_out);
        prop_assert_eq!(formatted(&laid_out), laid_out.clone(), "{}", text);
        let starts = |text: &str| text.starts_with("#!").then(|| text.lines().next().map(str::trim_end).map(str::to_owned));
        prop_assert_eq!(starts(&laid_out), starts(&text), "{}", laid_out);
        let read = millstream_text::load_text(text.as_bytes(), &REGISTRY, &limits());
        let Some(read) = read.document.filter(|_| !read.problems.has_errors()) else { return Ok(()) };
        prop_assert_eq!(document(&laid_out), read.clone(), "{}", laid_out);
        let again = to_text(&from_json(&save(&read)), &REGISTRY);
        prop_assert_eq!(starts(&again), starts(&text), "{}", again);
        let mut found = comments_of(&again);
        found.sort_unstable();
        written.sort_unstable();
        prop_assert_eq!(found, written, "{}\n{}", text, again);
    }
}

#[test]
fn empty_and_joined_comments_stay_as_they_are() {
    let text = "\
#!/usr/bin/env -S millstream run

#
## Heading
# ! not joined
#! joined
input a: f32  #

output y: f32 = 2 * a

#
";
    assert_eq!(formatted(text), text);
    assert_eq!(formatted(&text.replace('\n', "\r\n")), text);
    let json = save(&document(text));
    assert!(
        json.contains(r#"{ "before": [], "text": ["!/usr/bin/env -S millstream run"] }"#),
        "{json}"
    );
    assert_eq!(to_text(&from_json(&json), &REGISTRY), text);
    // The first line stays first, whatever follows it.
    let moved = "#!run\nb = a + 1\ninput a: f32\noutput b: f32\n";
    let again = to_text(&from_json(&save(&document(moved))), &REGISTRY);
    assert!(again.starts_with("#!run\n\ninput a: f32\n"), "{again}");
    // A comment of a statement does not become the first line.
    let of_input = "\n#!run\ninput a: f32\n";
    assert_eq!(formatted(of_input), of_input);
    assert_eq!(to_text(&document(of_input), &REGISTRY), of_input);
    assert!(format(b"#!run\n", &limits()).is_ok_and(|text| text == "#!run\n"));
}
