//! The part of a word that its forms share, so that "walked" and "walks" are compared as one word.
//!
//! Rough on purpose: endings are cut by list. Two words are of one stem rather too seldom than too often.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::languages::Language;

/// Irregular forms of English, each with the form that it is compared as.
const IRREGULAR: &str = "bought:buy drove:drive driven:drive went:go ate:eat eaten:eat drank:drink drunk:drink grew:grow \
    grown:grow taught:teach left:leave wrote:write written:write spoke:speak spoken:speak ran:run running:run swam:swim \
    swum:swim swimming:swim began:begin begun:begin met:meet gave:give given:give kept:keep slept:sleep wore:wear \
    worn:wear broke:break broken:broken chose:choose chosen:choose children:child men:man women:woman feet:foot \
    teeth:tooth sold:sell paid:pay lost:lose won:win flew:fly flown:fly rode:ride ridden:ride sang:sing sung:sing \
    brought:bring thought:think made:make took:take taken:take saw:see seen:see sent:send spent:spend knew:know \
    known:know read:read played:play plays:play playing:play allergies:allergy wives:wife lives:live knives:knife \
    leaves:leave fell:fall fallen:fall hid:hide hidden:hide held:hold built:build caught:catch drew:draw felt:feel \
    found:find forgot:forget got:get had:have heard:hear hurt:hurt led:lead lent:lend lit:light rang:ring rose:rise \
    shot:shoot sat:sit stood:stand stole:steal stolen:steal swore:swear threw:throw understood:understand woke:wake \
    grey:gray tyre:tire tyres:tire favourite:favorite favourites:favorite told:tell said:say parties:party ties:tie dying:die lying:lie lay:lie mice:mouse geese:goose";

static IRREGULARS: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| IRREGULAR.split_whitespace().filter_map(|pair| pair.split_once(':')).collect());

/// The part of a word that its forms share.
pub(super) fn stem(folded: &str, language: Language) -> String {
    match language {
        Language::English => english_stem(folded),
        Language::German => strip(folded, &["innen", "en", "er", "es", "em", "est", "et", "st", "e", "n", "s", "t"]),
        Language::Dutch => strip(folded, &["tjes", "tje", "en", "es", "e", "s", "n", "t"]),
        Language::French => strip(folded, &["aient", "ions", "ons", "ent", "ez", "er", "es", "ee", "e", "s", "x"]),
        Language::Spanish | Language::Portuguese | Language::Italian => strip(
            folded,
            &[
                "ando", "endo", "amos", "emos", "iamo", "ar", "er", "ir", "are", "ere", "ire", "os", "as", "es", "o",
                "a", "e", "i", "s",
            ],
        ),
        Language::Russian => strip(
            folded,
            &[
                "ами", "ями", "ого", "его", "ому", "ему", "ыми", "ими", "ая", "яя", "ое", "ее", "ые", "ие", "ой", "ей",
                "ый", "ий", "ую", "юю", "ом", "ем", "ам", "ям", "ах", "ях", "ою", "ею", "ется", "ится", "а", "я", "о",
                "е", "у", "ю", "ы", "и", "ь", "й",
            ],
        ),
        Language::Other => strip(
            folded,
            &[
                "ami", "ego", "emu", "iem", "owi", "ach", "om", "em", "ej", "ou", "ar", "er", "en", "et", "an", "a",
                "e", "i", "o", "u", "y", "а", "е", "и", "і", "у", "я", "ю", "은", "는", "이", "가", "을", "를", "의",
                "에", "도",
            ],
        ),
        Language::Japanese | Language::Chinese => folded.to_owned(),
    }
}

fn english_stem(word: &str) -> String {
    let word = IRREGULARS.get(word).copied().unwrap_or(word);
    let word = &american(word);
    if let Some(base) = word.strip_suffix("ies").filter(|base| base.len() > 2) {
        return format!("{base}y");
    }
    let base = match word {
        _ if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") => word.to_owned(),
        _ => strip_to(word, &["ings", "ing", "ed", "s"], 3),
    };
    let doubled = base.len() > 3 && base.len() < word.len() && {
        let mut tail = base.chars().rev();
        let last = tail.next();
        last == tail.next() && last.is_some_and(|c| c.is_ascii() && !matches!(c, 'l' | 's' | 'e' | 'o'))
    };
    let base = if doubled { base[..base.len() - 1].to_owned() } else { base };
    strip_to(&base, &["e"], 3)
}

/// British spelling as Americans write it.
fn american(word: &str) -> String {
    for (british, american) in [("our", "or"), ("ours", "ors"), ("oured", "ored"), ("tre", "ter"), ("tres", "ters")] {
        if let Some(base) = word.strip_suffix(british).filter(|base| base.len() > 2) {
            return format!("{base}{american}");
        }
    }
    word.to_owned()
}

fn strip(word: &str, endings: &[&str]) -> String {
    let least = if word.is_ascii() { 3 } else { 2 };
    strip_to(word, endings, least)
}

/// Cuts the longest of `endings` off that leaves `least` letters or more.
fn strip_to(word: &str, endings: &[&str], least: usize) -> String {
    let bases = endings.iter().filter_map(|ending| word.strip_suffix(ending));
    let fitting = bases.filter(|base| base.chars().count() >= least);
    fitting.min_by_key(|base| base.len()).unwrap_or(word).to_owned()
}

/// Whether two stems are of one word: equal, or alike for most of their length.
pub(super) fn same_stem(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longest = one.chars().count().max(other.chars().count());
    common >= 4 && common * 4 >= longest * 3 && !one.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_share_their_stem() {
        for (one, other, language) in [
            ("swimming", "swim", Language::English),
            ("studies", "study", Language::English),
            ("moved", "move", Language::English),
            ("arbeitest", "arbeitet", Language::German),
            ("favorita", "favorito", Language::Spanish),
            ("сестру", "сестра", Language::Russian),
            ("고향은", "고향이", Language::Other),
        ] {
            assert!(same_stem(&stem(one, language), &stem(other, language)), "{one} {other}");
        }
        for (one, other) in [("cat", "car"), ("march", "marcus"), ("1978", "1987")] {
            assert!(!same_stem(&stem(one, Language::English), &stem(other, Language::English)), "{one} {other}");
        }
    }
}
