//! Formats JSON for people and line-based tools.
//!
//! Each input, output, node and group starts on a new line; inside these, a part that fits on one
//! line stays on it. Nothing recurses, so depth costs no stack.

/// The target width of lines.
const WIDTH: usize = 100;

const INDENT: usize = 2;

/// Containers nested deeper stay on one line, so that the text is not mostly indentation.
const MAX_INDENTED: usize = 32;

/// The contents of a container, which determine whether it may stay on one line.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// A document or a group.
    Body,
    /// Named parts.
    Names,
    /// Named groups.
    Groups,
    /// Anything else.
    Other,
}

struct Open {
    role: Role,
    expanded: bool,
}

/// Formats compact, valid JSON; the text ends with a line feed.
pub(crate) fn laid_out(compact: &str) -> String {
    let lengths = one_line_lengths(compact.as_bytes());
    let mut printer = Printer { out: String::with_capacity(compact.len() * 5 / 4), line_start: 0 };
    let mut open: Vec<Open> = Vec::new();
    let mut key = "";
    let mut n_opened = 0;
    let bytes = compact.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let end = token_end(bytes, i);
        let token = &compact[i..end];
        match bytes[i] {
            b'{' | b'[' => {
                let length = lengths[n_opened];
                n_opened += 1;
                let role = role_of(open.last(), key);
                let empty = matches!(bytes.get(end), Some(b'}' | b']'));
                let is_long = role != Role::Other || printer.column() + length > WIDTH;
                let expanded = !empty && is_long && open.len() < MAX_INDENTED;
                printer.out.push_str(token);
                open.push(Open { role, expanded });
                if expanded {
                    printer.new_line(open.len());
                } else if bytes[i] == b'{' && !empty {
                    printer.out.push(' ');
                }
            }
            b'}' | b']' => {
                let closed = open.pop();
                let empty = printer.out.ends_with(['{', '[']);
                if closed.is_some_and(|open| open.expanded) {
                    printer.new_line(open.len());
                } else if bytes[i] == b'}' && !empty {
                    printer.out.push(' ');
                }
                printer.out.push_str(token);
            }
            b',' => {
                printer.out.push(',');
                if open.last().is_some_and(|open| open.expanded) {
                    printer.new_line(open.len());
                } else {
                    printer.out.push(' ');
                }
            }
            b':' => printer.out.push_str(": "),
            b'"' => {
                key = token;
                printer.out.push_str(token);
            }
            _ => printer.out.push_str(token),
        }
        i = end;
    }
    printer.out.push('\n');
    printer.out
}

struct Printer {
    out: String,
    line_start: usize,
}

impl Printer {
    fn column(&self) -> usize {
        self.out.len() - self.line_start
    }

    fn new_line(&mut self, depth: usize) {
        self.out.push('\n');
        self.line_start = self.out.len();
        self.out.extend(std::iter::repeat_n(' ', INDENT * depth));
    }
}

/// The role of a container under `key`, which is quoted, in its parent.
fn role_of(parent: Option<&Open>, key: &str) -> Role {
    match parent.map(|parent| parent.role) {
        None | Some(Role::Groups) => Role::Body,
        Some(Role::Body) => match key {
            "\"inputs\"" | "\"outputs\"" | "\"nodes\"" | "\"use\"" | "\"lock\"" => Role::Names,
            "\"groups\"" => Role::Groups,
            _ => Role::Other,
        },
        Some(Role::Names | Role::Other) => Role::Other,
    }
}

/// The end of the token that starts at `start`.
fn token_end(bytes: &[u8], start: usize) -> usize {
    match bytes[start] {
        b'"' => {
            let mut i = start + 1;
            while i < bytes.len() && bytes[i] != b'"' {
                i += if bytes[i] == b'\\' { 2 } else { 1 };
            }
            (i + 1).min(bytes.len())
        }
        b'{' | b'}' | b'[' | b']' | b',' | b':' => start + 1,
        _ => {
            let rest = bytes[start + 1..].iter();
            let n_more = rest.take_while(|b| !matches!(b, b'}' | b']' | b',' | b':')).count();
            start + 1 + n_more
        }
    }
}

/// The length of each container on one line, in order of opening brackets.
fn one_line_lengths(bytes: &[u8]) -> Vec<usize> {
    let mut lengths: Vec<usize> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut total = 0;
    let mut i = 0;
    while i < bytes.len() {
        let end = token_end(bytes, i);
        match bytes[i] {
            b'{' | b'[' => {
                open.push(lengths.len());
                lengths.push(total);
                total += if bytes[i] == b'{' { 2 } else { 1 };
            }
            b'}' | b']' => {
                total += if bytes[i] == b'}' { 2 } else { 1 };
                if let Some(at) = open.pop() {
                    lengths[at] = total - lengths[at];
                }
            }
            b',' | b':' => total += 2,
            _ => total += end - i,
        }
        i = end;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn named_things_have_lines_of_their_own() {
        let text = r#"{"millstream":2,"inputs":{"a":{"type":"vec3","default":[0,0,0]}},"outputs":{},"nodes":{"n":{"type":"math.add","in":{"a":{"input":"a"}}}},"groups":{"g":{"outputs":{"x":{"type":"f32"}}}},"view":{"nodes":{"n":{"at":[1,2]}}}}"#;
        expect![[r#"
            {
              "millstream": 2,
              "inputs": {
                "a": { "type": "vec3", "default": [0, 0, 0] }
              },
              "outputs": {},
              "nodes": {
                "n": { "type": "math.add", "in": { "a": { "input": "a" } } }
              },
              "groups": {
                "g": {
                  "outputs": {
                    "x": { "type": "f32" }
                  }
                }
              },
              "view": { "nodes": { "n": { "at": [1, 2] } } }
            }
        "#]]
        .assert_eq(&laid_out(text));
    }

    #[test]
    fn deep_containers_stay_on_one_line() {
        let n = 20_000;
        let text = format!("{{\"view\":{}1{}}}", "[".repeat(n), "]".repeat(n));
        let laid_out = laid_out(&text);
        assert!(laid_out.len() < text.len() + 4_000, "{}", laid_out.len());
        let without_spaces: String = laid_out.split_whitespace().collect();
        assert_eq!(without_spaces, text);
    }

    #[test]
    fn parts_that_do_not_fit_on_a_line_are_broken() {
        let long = "x".repeat(90);
        let text = format!(r#"{{"nodes":{{"n":{{"type":"t","set":{{"text":"{long}"}}}}}}}}"#);
        let lines: Vec<String> = laid_out(&text).lines().map(str::to_owned).collect();
        assert_eq!(lines[3], "      \"type\": \"t\",");
        assert_eq!(lines.len(), 10);
    }
}
