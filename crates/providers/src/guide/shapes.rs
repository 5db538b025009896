//! Values that show by their form what they are: an address with an @ is an e-mail address, whoever wrote it.

use super::clause::Clause;
use super::topics::Topic;
use super::words::{Word, contains};

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Email,
    Address,
    Clock,
    Money,
    Digits,
}

/// Nouns that ask for a value of some form.
const ASKED: [(Shape, &str); 5] = [
    (Shape::Email, "email mail e-mail courriel correo"),
    (Shape::Address, "ip address host url website adresse direccion indirizzo"),
    (Shape::Clock, "time uhrzeit heure hora ora tijd"),
    (
        Shape::Money,
        "cost costs price pay paid expensive spend worth kostet kosten preis bezahlt prix coute cuesta costo precio \
         costa prezzo custa preco kost prijs стоит цена",
    ),
    (
        Shape::Digits,
        "number phone telephone mobile code pin digits nummer telefonnummer numero codice codigo telefon telefono \
         telefone telefoon",
    ),
];

/// The form of a word, if it has one of its own.
pub(super) fn shape_of(word: &str) -> Option<Shape> {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let dotted = word.split('.').count();
    if word.contains('@') {
        return Some(Shape::Email);
    }
    if (dotted == 4 && digits >= 4) || (dotted >= 2 && word.chars().any(char::is_alphabetic)) {
        return Some(Shape::Address);
    }
    if word.split(':').count() == 2 && digits >= 3 && word.chars().all(|c| c.is_ascii_digit() || c == ':') {
        return Some(Shape::Clock);
    }
    (digits >= 3 || (digits > 0 && digits * 2 >= word.len())).then_some(Shape::Digits)
}

/// Whether `clause` has a value of the form that `asked` asks for.
pub(super) fn shows(asked: &Word, clause: &Clause) -> bool {
    let wanted = ASKED.iter().filter(|(_, words)| contains(words, &asked.folded)).map(|(shape, _)| *shape);
    let values = || clause.read.words.iter().enumerate().filter(|(at, _)| !clause.in_subject(*at));
    wanted.into_iter().any(|wanted| match wanted {
        Shape::Money => clause.text.contains(['€', '$', '£', '¥', '₽']) || has_unit(clause, CURRENCIES),
        // A day of the month is no telephone number, and neither is a height.
        Shape::Digits => {
            let digits: usize =
                values().map(|(_, word)| word.folded.chars().filter(char::is_ascii_digit).count()).sum();
            let least = if asked.stem.contains(' ') || asked.folded.contains("phon") { 6 } else { 3 };
            digits >= least && !clause.tells_date()
        }
        _ => values().any(|(_, word)| shape_of(&word.folded) == Some(wanted)),
    })
}

const CURRENCIES: &str = "euro euros dollar dollars bucks pound pounds franc francs franken yen yuan rupees crowns kronor \
    zloty reais pesos eur usd gbp chf рублей";

/// Whether a noun asks for where somebody lives.
pub(super) fn is_address(word: &Word) -> bool {
    const ADDRESS: &str = "address adresse anschrift direccion indirizzo morada endereco adres адрес adress";
    contains(ADDRESS, &word.folded) && !word.stem.contains(' ')
}

/// Whether an attribute-like noun is told by other words: where somebody lives with a number is an address.
pub(super) fn implies(asked: &Word, clause: &Clause) -> bool {
    let number = clause.read.words.iter().any(Word::is_number);
    is_address(asked) && clause.states(Topic::Residence) && number
}

/// Whether a number with one of these space-separated units stands in `clause`.
pub(super) fn has_unit(clause: &Clause, units: &str) -> bool {
    let number = |word: &str, unit: &str| word.strip_suffix(unit).is_some_and(|rest| rest.parse::<f32>().is_ok());
    let glued = |word: &Word| units.split(' ').any(|unit| number(&word.folded, unit));
    clause.read.words.windows(2).any(|pair| pair[0].is_number() && contains(units, &pair[1].folded))
        || clause.read.words.iter().any(glued)
}
