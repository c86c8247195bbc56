//! `millstream nodes --search WORDS`: the nodes that match some words, best first.
//!
//! A word is looked up in the name, the summary and the whole manual entry. A match counts most in
//! a name and least in the manual, and a whole word counts more than a part of one.

use millstream::diagnostics::did_you_mean;

use crate::outcome::{Exit, Stop};

/// The number of nodes that are named if the words are mistyped.
const MAX_NAMED: usize = 3;

/// The number of results that people are shown.
pub(super) const MAX_SHOWN: usize = 20;

/// Words that people know from other programs, with the word for it in names of node types.
pub(super) const SYNONYMS: &[(&str, &[&str])] = &[
    ("accumulate", &["sum", "running_sum"]),
    ("argmax", &["index_of_maximum"]),
    ("argmin", &["index_of_minimum"]),
    ("average", &["mean"]),
    ("billow", &["turbulence"]),
    ("cellular", &["cell"]),
    ("clip", &["clamp"]),
    ("fold", &["reduce"]),
    ("grayscale", &["desaturate", "luminance"]),
    ("greyscale", &["desaturate", "luminance"]),
    ("if", &["switch"]),
    ("interpolate", &["mix"]),
    ("invlerp", &["inverse_mix"]),
    ("invsqrt", &["inverse_sqrt"]),
    ("lerp", &["mix"]),
    ("magnitude", &["length"]),
    ("modulus", &["modulo"]),
    ("norm", &["length"]),
    ("opacity", &["alpha"]),
    ("pow", &["power"]),
    ("remap", &["map_range"]),
    ("rsqrt", &["inverse_sqrt"]),
    ("substring", &["slice"]),
    ("ternary", &["switch"]),
    ("unlerp", &["inverse_mix"]),
    ("voronoi", &["cell"]),
    ("worley", &["cell"]),
];

/// The searchable texts of a node type.
pub(super) struct Texts {
    /// Parts separated by dots, slashes and underscores.
    pub(super) name: String,
    pub(super) summary: String,
    /// The whole manual entry.
    pub(super) manual: String,
}

/// The positions of the texts that match every word, best first; ties keep their order. If none
/// matches every word, those that match most.
///
/// # Errors
/// If no text matches any word, with the nearest word in the texts.
pub(super) fn search(words: &[String], texts: &[Texts]) -> Result<Vec<usize>, Stop> {
    let wanted: Vec<String> =
        words.iter().flat_map(|text| words_of(text)).map(|word| stem(&word).to_owned()).collect();
    if wanted.is_empty() {
        let text = "--search needs words to look for";
        let help = "describe what a node does: --search smooth noise";
        return Err(Stop::new(Exit::Usage, text, Some(help.into())));
    }
    let mut found: Vec<(usize, u32, usize)> = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let points = points(text, &wanted);
        let n_found = points.iter().filter(|points| **points > 0).count();
        if n_found > 0 {
            found.push((n_found, points.iter().sum(), i));
        }
    }
    let most = found.iter().map(|(n, ..)| *n).max().ok_or_else(|| nothing(words, texts))?;
    found.retain(|(n, ..)| *n == most);
    found.sort_by_key(|(_, points, i)| (std::cmp::Reverse(*points), *i));
    Ok(found.into_iter().map(|(.., i)| i).collect())
}

/// The score of each word; 0 if it does not occur in the texts.
fn points(texts: &Texts, wanted: &[String]) -> Vec<u32> {
    let name = words_of(&texts.name);
    let (summary, manual) = (words_of(&texts.summary), words_of(&texts.manual));
    let last = texts.name.rsplit(['.', '/']).next().unwrap_or_default().to_lowercase();
    let of_word = |word: &str| {
        let in_name = if last == *word {
            120
        } else if is_part(&texts.name, word) {
            40
        } else {
            0
        };
        let best = [in_name, fit(&name, word, 80), fit(&summary, word, 30), fit(&manual, word, 8)];
        best.into_iter().max().unwrap_or(0)
    };
    let of_meant = |word: &str| {
        let meant = SYNONYMS.iter().filter(|(known, _)| *known == word);
        let all = meant.flat_map(|(_, meant)| *meant).map(|meant| of_word(meant));
        // The word itself counts more.
        all.max().unwrap_or(0) * 9 / 10
    };
    wanted.iter().map(|word| of_word(word).max(of_meant(word))).collect()
}

/// The full score if the word occurs, half of it if a word starts with it.
fn fit(words: &[String], wanted: &str, all: u32) -> u32 {
    if words.iter().any(|word| stem(word) == wanted) {
        all
    } else if words.iter().any(|word| word.starts_with(wanted)) {
        all / 2
    } else {
        0
    }
}

fn is_part(text: &str, wanted: &str) -> bool {
    wanted.len() > 2 && text.to_lowercase().contains(wanted)
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// A word without a plural ending.
fn stem(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(one) if one.len() > 2 && !one.ends_with('s') => one,
        Some(_) | None => word,
    }
}

fn nothing(words: &[String], texts: &[Texts]) -> Stop {
    let near: Vec<String> = words.iter().map(|word| nearest(word, texts)).collect();
    let is_found = near.iter().zip(words).any(|(near, word)| near != word);
    let found = is_found.then(|| search(&near, texts).ok()).flatten();
    let help = match found {
        Some(found) => {
            let names = found.iter().take(MAX_NAMED).map(|i| format!("`{}`", texts[*i].name));
            let names = names.collect::<Vec<_>>().join(", ");
            format!("did you mean `{}`? It finds {names}", near.join(" "))
        }
        None => "try other words, or list all nodes without --search".into(),
    };
    Stop::new(Exit::Usage, format!("nothing matches `{}`", words.join(" ")), Some(help))
}

/// The nearest word in the names, else in the summaries, else in the manual; the word itself if
/// there is none.
fn nearest(word: &str, texts: &[Texts]) -> String {
    let word = word.to_lowercase();
    let parts: [fn(&Texts) -> &String; 3] =
        [|texts| &texts.name, |texts| &texts.summary, |texts| &texts.manual];
    let synonyms = || SYNONYMS.iter().map(|(synonym, _)| (*synonym).to_owned());
    let near = parts.iter().find_map(|part| {
        let known = texts.iter().flat_map(|texts| words_of(part(texts))).chain(synonyms());
        let known: Vec<String> = known.filter(|known| known.len() > 2).collect();
        // Few people mistype the first letter.
        let known = known.iter().map(String::as_str);
        let known = known.filter(|known| known.chars().next() == word.chars().next());
        did_you_mean(&word, known).map(str::to_owned)
    });
    near.unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Vec<&'static str> {
        let all = [
            ("math.sqrt", "The square root", "math.sqrt: The square root. NaN below 0."),
            ("math.power", "A number to a power", "x^0.5 is the square root"),
            ("noise.smooth", "Smooth noise", "Gradients, as Perlin has them"),
            ("color.root", "The darkest color", "of a list of colors"),
        ];
        let texts = all.map(|(name, summary, manual)| Texts {
            name: name.into(),
            summary: summary.into(),
            manual: manual.into(),
        });
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        search(&words, &texts).map_or(Vec::new(), |all| all.iter().map(|i| all_name(*i)).collect())
    }

    fn all_name(i: usize) -> &'static str {
        ["math.sqrt", "math.power", "noise.smooth", "color.root"][i]
    }

    #[test]
    fn names_rank_above_summaries_and_summaries_above_manuals() {
        assert_eq!(names(&["root"]), ["color.root", "math.sqrt", "math.power"]);
        assert_eq!(names(&["Square", "ROOTS"]), ["math.sqrt", "math.power"]);
        assert_eq!(names(&["square root"]), ["math.sqrt", "math.power"]);
        assert_eq!(names(&["gradient"]), ["noise.smooth"]);
        assert_eq!(names(&["sqr"]), ["math.sqrt"]);
    }

    #[test]
    fn if_no_node_matches_all_words_the_best_partial_matches_are_found() {
        assert_eq!(names(&["smooth", "perlin", "xyzzy"]), ["noise.smooth"]);
        assert_eq!(names(&["magnitude", "pow"]), ["math.power"]);
        assert!(names(&["xyzzy"]).is_empty() && names(&["", "?!"]).is_empty());
    }
}
