//! Phrases that are about the talk itself and not about anything to remember.
//!
//! Written folded, separated by `|`; phrases of languages without spaces are looked for as they are.

use super::words::fold;

/// What somebody wants who says such a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Talk {
    Greeting,
    Thanks,
    /// What the guide is.
    Identity,
    Help,
    /// Everything that is remembered.
    Everything,
}

const EVERYTHING: &str = "know about me|remember about me|recall about me|have on me|have about me|learned about me|learnt about me|stored about me|have i told you so far|did i tell you so far|everything you know|everything you remember|all you know|what do you remember|what do you know|what have i told you|what did i tell you|who am i|your memory|weisst du uber mich|weisst du von mir|uber mich gemerkt|was weisst du|wer bin ich|sais tu sur moi|sais tu de moi|sais sur moi|sais de moi|qui suis je|sabes de mi|sabes sobre mi|recuerdas de mi|quien soy|sai di me|sai su di me|ricordi di me|chi sono|sabes sobre mim|sabe sobre mim|sabes de mim|sabe de mim|quem sou|quem sou eu|weet je over mij|weet je over me|weet je van mij|weet je van me|wie ben ik";
const EVERYTHING_UNSPACED: &str =
    "私について|私のこと|僕について|僕のこと|私は誰|关于我|我的事|我是谁|了解我|知道我什么|记得我什么";
const IDENTITY: &str = "who are you|what are you|are you an ai|are you a bot|are you a robot|are you human|are you a human|are you chatgpt|are you a language model|are you real|are you an llm|are you a person|which model are you|what model are you|what s your name|what is your name|your name|who made you|wer bist du|was bist du|wie heisst du|bist du|dein name|qui es tu|tu es qui|qui etes vous|es tu un|es tu une|comment t appelles tu|ton nom|quien eres|que eres|eres un|eres una|como te llamas|tu nombre|chi sei|cosa sei|sei un|sei una|come ti chiami|il tuo nome|quem es|quem es tu|quem e voce|como te chamas|como voce se chama|teu nome|seu nome|es um|voce e um|wie ben je|wie ben jij|wat ben je|ben je een|hoe heet je|hoe heet jij|jouw naam|introduce yourself";
const IDENTITY_UNSPACED: &str =
    "あなたは誰|あなたは何|あなたの名前|君は誰|你是谁|你是什么|你叫什么|您是谁|你的名字|自我介绍";
const HELP: &str = "what can you do|what do you do|what can i do here|how does this work|how do you work|how do i use|how to use|connect a model|connect a real model|real model|language model|api key|openai|ollama|set model|how can you help|was kannst du|wie funktioniert das|wie funktionierst du|que peux tu faire|que sais tu faire|comment ca marche|que puedes hacer|como funciona|como funcionas|cosa puoi fare|cosa sai fare|come funziona|come funzioni|o que podes fazer|o que voce pode fazer|o que pode fazer|wat kun je|wat kan je|hoe werkt dit|hoe werk je";
const HELP_UNSPACED: &str = "何ができ|ヘルプ|使い方|助けて|你能做什么|你会什么|怎么用|帮助";
const HELP_WORDS: &str = "help|help me|please help|help please|i need help|can you help me|hilfe|aide|aide moi|ayuda|ayudame|aiuto|aiutami|ajuda|hulp|commands|usage";
const GREETINGS: &str = "hi|hello|hey|hi there|hello there|hey there|good morning|good evening|good afternoon|good night|greetings|howdy|yo|sup|how are you|how are you doing|how is it going|how s it going|what s up|hallo|guten tag|guten morgen|guten abend|servus|moin|wie geht s|wie geht es dir|wie gehts|bonjour|salut|coucou|bonsoir|ca va|comment ca va|comment vas tu|comment allez vous|hola|buenos dias|buenas tardes|buenas noches|buenas|que tal|como estas|ciao|salve|buongiorno|buonasera|come stai|come va|ola|oi|bom dia|boa tarde|boa noite|tudo bem|como estas tu|como vai|hoi|goedemorgen|goedemiddag|goedenavond|dag|hoe gaat het|hoe gaat het met je|bye|goodbye|see you|tschuss|au revoir|adios|arrivederci|adeus|tchau|doei|こんにちは|おはよう|こんばんは|やあ|元気ですか|はじめまして|你好|您好|嗨|早上好|晚上好|你好吗";
const THANKS: &str = "thanks|thank you|thank you very much|thanks a lot|many thanks|thx|ty|great thanks|ok thanks|okay thanks|perfect|great|cool|nice|danke|vielen dank|danke schon|super danke|merci|merci beaucoup|gracias|muchas gracias|grazie|grazie mille|obrigado|obrigada|muito obrigado|bedankt|dank je|dank je wel|ありがとう|ありがとうございます|谢谢|多谢|ok|okay";

/// What `sentence` is about, if it is about the talk itself.
pub(super) fn small_talk(sentence: &str) -> Option<Talk> {
    let folded = fold(sentence);
    let words: Vec<&str> = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let plain = words.join(" ");
    let within = |list: &str| {
        let padded = format!(" {plain} ");
        list.split('|').any(|phrase| padded.contains(&format!(" {phrase} ")))
    };
    let whole = |list: &str| list.split('|').any(|phrase| phrase == plain);
    let inside = |list: &str| list.split('|').any(|phrase| sentence.contains(phrase));
    // "What do you know about my sister" ends in a topic; the phrase must be near the end of the question.
    let everything = within(EVERYTHING) && EVERYTHING.split('|').any(|phrase| ends_with_phrase(&plain, phrase));
    if everything || inside(EVERYTHING_UNSPACED) {
        return Some(Talk::Everything);
    }
    if whole(HELP_WORDS) || within(HELP) || inside(HELP_UNSPACED) {
        return Some(Talk::Help);
    }
    if within(IDENTITY) || inside(IDENTITY_UNSPACED) {
        return Some(Talk::Identity);
    }
    if whole(GREETINGS) {
        return Some(Talk::Greeting);
    }
    whole(THANKS).then_some(Talk::Thanks)
}

fn ends_with_phrase(plain: &str, phrase: &str) -> bool {
    let tails = [
        "", " so far", " now", " already", " today", " please", " all", " genau", " alles", " exactly", " deja", " eu",
    ];
    tails.iter().any(|tail| {
        plain
            .strip_suffix(tail)
            .is_some_and(|rest| rest == phrase || rest.strip_suffix(phrase).is_some_and(|before| before.ends_with(' ')))
    })
}
