//! `millstream nodes --search WORDS`: the nodes that match some words, best first.
//!
//! A word is looked up in the name, the summary and the whole manual entry. A match counts most in
//! a name and least in the manual, and a whole word counts more than a part of one. A word or
//! phrase of another program counts as the names to which the table of synonyms leads.

use std::collections::HashMap;

use millstream::diagnostics::did_you_mean;
use millstream::synonyms;

use crate::outcome::{Exit, Stop};

use super::synonyms::absent;

/// The number of nodes that are named if the words are mistyped.
const MAX_NAMED: usize = 3;

/// The number of results that people are shown.
pub(super) const MAX_SHOWN: usize = 20;

/// The score of the best name to which a synonym leads; the others follow in order.
const BEST: u32 = 130;

/// The score of a whole word in a name. Advice about a missing feature ranks below it.
const IS_NAMED: u32 = 80;

/// The number of words of the longest phrases among the synonyms.
const MAX_PHRASE: usize = 4;

/// The words that say nothing about a node when they stand between others.
const STOP_WORDS: [&str; 9] = ["a", "an", "the", "of", "to", "in", "by", "with", "from"];

/// The searchable texts of a node type.
pub(super) struct Texts {
    /// Parts separated by dots, slashes and underscores.
    pub(super) name: String,
    pub(super) summary: String,
    /// The whole manual entry.
    pub(super) manual: String,
}

/// A word or phrase to find.
struct Wanted {
    /// Its words, without plural endings.
    words: Vec<String>,
    /// The names to which it leads, the best first, if it is a synonym.
    names: &'static [&'static str],
}

/// The positions of the texts that match every word, best first; ties keep their order. If none
/// matches every word, those that match most.
///
/// # Errors
/// If no text matches any word, with the nearest word in the texts, or with advice for words that
/// are known to match nothing.
pub(super) fn search(words: &[String], texts: &[Texts]) -> Result<Vec<usize>, Stop> {
    let parts = stems(&words.join(" "));
    if parts.is_empty() {
        let text = "--search needs words to look for";
        let help = "describe what a node does: --search smooth noise";
        return Err(Stop::new(Exit::Usage, text, Some(help.into())));
    }
    let wanted = wanted(&parts);
    let mut found: Vec<(usize, u32, usize)> = Vec::new();
    let mut best = 0;
    for (i, text) in texts.iter().enumerate() {
        let points: Vec<u32> = wanted.iter().map(|wanted| points(text, wanted)).collect();
        let n_found = points.iter().filter(|points| **points > 0).count();
        best = points.iter().copied().fold(best, u32::max);
        if n_found > 0 {
            found.push((n_found, points.iter().sum(), i));
        }
    }
    let phrase = parts.join(" ");
    if (best < IS_NAMED || parts.len() > 1)
        && let Some((_, advice)) = absent().find(|(word, _)| stems(word).join(" ") == phrase)
    {
        let text = format!("no node matches `{}`", words.join(" "));
        return Err(Stop::new(Exit::Usage, text, Some(advice.into())));
    }
    let most = found.iter().map(|(n, ..)| *n).max().ok_or_else(|| nothing(words, texts))?;
    found.retain(|(n, ..)| *n == most);
    found.sort_by_key(|(_, points, i)| (std::cmp::Reverse(*points), *i));
    Ok(found.into_iter().map(|(.., i)| i).collect())
}

/// The names to which a word leads, if it is a synonym.
pub(super) fn names_for(word: &str) -> &'static [&'static str] {
    let phrase = stems(word).join(" ");
    let found = synonyms().find(|(synonym, _)| stems(synonym).join(" ") == phrase);
    found.map_or(&[], |(_, names)| names)
}

/// Splits a search into words and the phrases among the synonyms.
fn wanted(parts: &[String]) -> Vec<Wanted> {
    let known: HashMap<String, &'static [&'static str]> =
        synonyms().map(|(word, names)| (stems(word).join(" "), names)).collect();
    let is_stop = |part: &String| STOP_WORDS.contains(&part.as_str());
    let keeps_stops = parts.iter().all(is_stop);
    let mut all = Vec::new();
    let mut at = 0;
    while at < parts.len() {
        let longest = MAX_PHRASE.min(parts.len() - at);
        let phrase = |n: usize| known.get(&parts[at..at + n].join(" ")).map(|names| (n, *names));
        let (n, names) = (1..=longest).rev().find_map(phrase).unwrap_or((1, &[]));
        if n > 1 || keeps_stops || !is_stop(&parts[at]) {
            all.push(Wanted { words: parts[at..at + n].to_vec(), names });
        }
        at += n;
    }
    all
}

/// The score of a word or phrase; 0 if it does not occur in the texts.
fn points(texts: &Texts, wanted: &Wanted) -> u32 {
    if let Some(place) = wanted.names.iter().position(|name| *name == texts.name) {
        return BEST - place as u32;
    }
    let whole = |word: &String| match in_title(texts, word) {
        0 => fit(&words_of(&texts.manual), word, 8),
        points => points,
    };
    let own = wanted.words.iter().map(whole).min().unwrap_or(0);
    let of_name = |name: &&str| in_title(texts, name.rsplit('.').next().unwrap_or_default());
    // A node whose name merely resembles that of a synonym counts less.
    own.max(wanted.names.iter().map(of_name).max().unwrap_or(0) / 2)
}

/// The score of a word in the name and the summary.
fn in_title(texts: &Texts, word: &str) -> u32 {
    let last = texts.name.rsplit(['.', '/']).next().unwrap_or_default().to_lowercase();
    let in_name = if last == *word {
        120
    } else if is_part(&texts.name, word) {
        40
    } else {
        0
    };
    let (name, summary) = (words_of(&texts.name), words_of(&texts.summary));
    in_name.max(fit(&name, word, 80)).max(fit(&summary, word, 30))
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

/// The words of a text without plural endings.
fn stems(text: &str) -> Vec<String> {
    words_of(text).iter().map(|word| stem(word).to_owned()).collect()
}

fn is_part(text: &str, wanted: &str) -> bool {
    wanted.len() > 3 && text.to_lowercase().contains(wanted)
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
    let synonyms = || synonyms().flat_map(|(synonym, _)| words_of(synonym));
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
        assert_eq!(names(&["the", "root", "of", "a"]), ["color.root", "math.sqrt", "math.power"]);
        assert!(names(&["xyzzy"]).is_empty() && names(&["", "?!"]).is_empty());
    }
}
