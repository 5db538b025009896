//! The guide's own words, in the language of the person it speaks with.
//!
//! Short, and honest about what the guide is. What it remembers is quoted, never put in other words.

use super::languages::Language;

/// The sentences of one language; `{}` is where a quote goes.
#[derive(Debug)]
pub(super) struct Phrases {
    pub(super) noted: &'static str,
    /// `{}` is the new line, `{old}` the old one.
    pub(super) replaced: &'static str,
    pub(super) forgotten: &'static str,
    pub(super) known: &'static str,
    pub(super) told: &'static str,
    pub(super) told_before: &'static str,
    /// `{day}` is the day.
    pub(super) told_on: &'static str,
    /// The same of something in the archive.
    pub(super) archive_says: &'static str,
    pub(super) archived: &'static str,
    pub(super) unknown: &'static str,
    /// Begins like `unknown`.
    pub(super) nearest: &'static str,
    pub(super) failed: &'static str,
    pub(super) no_place: &'static str,
    pub(super) nothing_to_forget: &'static str,
    pub(super) hello: &'static str,
    pub(super) welcome: &'static str,
    pub(super) identity: &'static str,
    pub(super) abilities: &'static str,
    pub(super) connect: &'static str,
    pub(super) everything: &'static str,
    pub(super) nothing_yet: &'static str,
}

/// The command that the hint to connect a model holds; seen in a conversation, the hint is not repeated.
pub(super) const CONNECT_COMMAND: &str = "librarian agents set-model AGENT provider/model";

/// The phrases of `language`.
pub(super) fn phrases(language: Language) -> &'static Phrases {
    match language {
        Language::English => &ENGLISH,
        Language::German => &GERMAN,
        Language::French => &FRENCH,
        Language::Spanish => &SPANISH,
        Language::Italian => &ITALIAN,
        Language::Portuguese => &PORTUGUESE,
        Language::Dutch => &DUTCH,
        Language::Japanese => &JAPANESE,
        Language::Chinese => &CHINESE,
        Language::Russian => &RUSSIAN,
        Language::Other => &ENGLISH,
    }
}

/// Lines as quotes, side by side.
pub(super) fn quoted(lines: &[String]) -> String {
    let quotes: Vec<String> = lines.iter().map(|line| format!("“{}”", line.trim())).collect();
    quotes.join(", ")
}

/// A phrase with its quote.
pub(super) fn fill(phrase: &str, quote: &str) -> String {
    phrase.replacen("{}", quote, 1)
}

const ENGLISH: Phrases = Phrases {
    noted: "Noted: {}.",
    replaced: "Noted: {}. It takes the place of {old}.",
    forgotten: "Forgotten: {}.",
    known: "I have that already: {}.",
    told: "You told me: {}.",
    told_before: "You said earlier: {}.",
    told_on: "On {day} you said: {}.",
    archive_says: "In my archive, from {day}: {}.",
    archived: "Put into my archive: {}.",
    unknown: "I don't know. Nothing that I remember answers that.",
    nearest: "I don't know that for certain. The nearest that I remember: {}.",
    failed: "I could not change my memory: {}",
    no_place: "I could not remember that: this agent has no memory block that I may write to, or no tool to do it with.",
    nothing_to_forget: "I don't remember anything like that, so there was nothing to forget.",
    hello: "Hello! I am the built-in guide. Tell me something to remember, or ask about something that you told me.",
    welcome: "You're welcome.",
    identity: "I am the built-in guide of Librarian: a set of rules, not a language model.",
    abilities: "I keep facts that you tell me (“remember that …”), replace them when you correct them, forget them on request, and quote them when you ask.",
    connect: "To talk with a real model, set OPENAI_API_KEY or OLLAMA_BASE_URL, start again, and run `librarian agents set-model AGENT provider/model`.",
    everything: "This is what I remember: {}",
    nothing_yet: "I don't remember anything about you yet.",
};

const GERMAN: Phrases = Phrases {
    noted: "Gemerkt: {}.",
    replaced: "Gemerkt: {}. Das ersetzt {old}.",
    forgotten: "Vergessen: {}.",
    known: "Das habe ich mir schon gemerkt: {}.",
    told: "Du hast mir gesagt: {}.",
    told_before: "Du hast vorhin gesagt: {}.",
    told_on: "Am {day} hast du gesagt: {}.",
    archive_says: "In meinem Archiv, vom {day}: {}.",
    archived: "Ins Archiv gelegt: {}.",
    unknown: "Das weiß ich nicht. Nichts, was ich mir gemerkt habe, beantwortet das.",
    nearest: "Das weiß ich nicht genau. Am nächsten kommt: {}.",
    failed: "Ich konnte mein Gedächtnis nicht ändern: {}",
    no_place: "Das konnte ich mir nicht merken: Dieser Agent hat keinen Speicherblock, den ich beschreiben darf, oder kein Werkzeug dafür.",
    nothing_to_forget: "Daran erinnere ich mich nicht, also gab es nichts zu vergessen.",
    hello: "Hallo! Ich bin der eingebaute Guide. Sag mir, was ich mir merken soll, oder frag nach etwas, das du mir gesagt hast.",
    welcome: "Gern geschehen.",
    identity: "Ich bin der eingebaute Guide von Librarian: ein Satz von Regeln, kein Sprachmodell.",
    abilities: "Ich merke mir Fakten („merk dir, dass …“), ersetze sie, wenn du sie berichtigst, vergesse sie auf Wunsch und zitiere sie, wenn du fragst.",
    connect: "Für ein echtes Modell: OPENAI_API_KEY oder OLLAMA_BASE_URL setzen, neu starten und `librarian agents set-model AGENT provider/model` ausführen.",
    everything: "Das habe ich mir gemerkt: {}",
    nothing_yet: "Ich habe mir noch nichts über dich gemerkt.",
};

const FRENCH: Phrases = Phrases {
    noted: "C'est noté : {}.",
    replaced: "C'est noté : {}. Cela remplace {old}.",
    forgotten: "Oublié : {}.",
    known: "Je l'ai déjà noté : {}.",
    told: "Tu m'as dit : {}.",
    told_before: "Tu as dit plus tôt : {}.",
    told_on: "Le {day}, tu as dit : {}.",
    archive_says: "Dans mes archives, du {day} : {}.",
    archived: "C'est archivé : {}.",
    unknown: "Je ne sais pas. Rien de ce que j'ai retenu n'y répond.",
    nearest: "Je ne sais pas exactement. Le plus proche de ce que j'ai retenu : {}.",
    failed: "Je n'ai pas pu modifier ma mémoire : {}",
    no_place: "Je n'ai pas pu le retenir : cet agent n'a pas de bloc de mémoire que je puisse modifier, ou pas d'outil pour le faire.",
    nothing_to_forget: "Je n'ai rien retenu de tel, il n'y avait donc rien à oublier.",
    hello: "Bonjour ! Je suis le guide intégré. Dis-moi ce que je dois retenir, ou pose une question sur ce que tu m'as dit.",
    welcome: "De rien.",
    identity: "Je suis le guide intégré de Librarian : un ensemble de règles, pas un modèle de langage.",
    abilities: "Je retiens les faits que tu me dis (« retiens que … »), je les remplace si tu les corriges, je les oublie sur demande et je les cite quand tu les demandes.",
    connect: "Pour parler avec un vrai modèle, définis OPENAI_API_KEY ou OLLAMA_BASE_URL, redémarre, puis lance `librarian agents set-model AGENT provider/model`.",
    everything: "Voici ce que j'ai retenu : {}",
    nothing_yet: "Je n'ai encore rien retenu sur toi.",
};

const SPANISH: Phrases = Phrases {
    noted: "Anotado: {}.",
    replaced: "Anotado: {}. Sustituye a {old}.",
    forgotten: "Olvidado: {}.",
    known: "Ya lo tenía anotado: {}.",
    told: "Me dijiste: {}.",
    told_before: "Antes dijiste: {}.",
    told_on: "El {day} dijiste: {}.",
    archive_says: "En mi archivo, del {day}: {}.",
    archived: "Archivado: {}.",
    unknown: "No lo sé. Nada de lo que recuerdo lo responde.",
    nearest: "No lo sé con certeza. Lo más parecido que recuerdo: {}.",
    failed: "No pude cambiar mi memoria: {}",
    no_place: "No pude recordarlo: este agente no tiene un bloque de memoria en el que yo pueda escribir, o no tiene herramienta para ello.",
    nothing_to_forget: "No recuerdo nada parecido, así que no había nada que olvidar.",
    hello: "¡Hola! Soy la guía integrada. Dime algo que deba recordar o pregunta por algo que me hayas dicho.",
    welcome: "De nada.",
    identity: "Soy la guía integrada de Librarian: un conjunto de reglas, no un modelo de lenguaje.",
    abilities: "Guardo los datos que me dices («recuerda que …»), los sustituyo si los corriges, los olvido si lo pides y los cito cuando preguntas.",
    connect: "Para hablar con un modelo de verdad, define OPENAI_API_KEY u OLLAMA_BASE_URL, reinicia y ejecuta `librarian agents set-model AGENT provider/model`.",
    everything: "Esto es lo que recuerdo: {}",
    nothing_yet: "Todavía no recuerdo nada sobre ti.",
};

const ITALIAN: Phrases = Phrases {
    noted: "Annotato: {}.",
    replaced: "Annotato: {}. Sostituisce {old}.",
    forgotten: "Dimenticato: {}.",
    known: "L'avevo già annotato: {}.",
    told: "Mi hai detto: {}.",
    told_before: "Prima hai detto: {}.",
    told_on: "Il {day} hai detto: {}.",
    archive_says: "Nel mio archivio, del {day}: {}.",
    archived: "Archiviato: {}.",
    unknown: "Non lo so. Niente di ciò che ricordo risponde a questo.",
    nearest: "Non lo so con certezza. La cosa più vicina che ricordo: {}.",
    failed: "Non ho potuto cambiare la mia memoria: {}",
    no_place: "Non ho potuto ricordarlo: questo agente non ha un blocco di memoria in cui io possa scrivere, o non ha uno strumento per farlo.",
    nothing_to_forget: "Non ricordo niente del genere, quindi non c'era niente da dimenticare.",
    hello: "Ciao! Sono la guida integrata. Dimmi qualcosa da ricordare o chiedimi di qualcosa che mi hai detto.",
    welcome: "Prego.",
    identity: "Sono la guida integrata di Librarian: un insieme di regole, non un modello linguistico.",
    abilities: "Conservo i fatti che mi dici («ricorda che …»), li sostituisco se li correggi, li dimentico su richiesta e li cito quando chiedi.",
    connect: "Per parlare con un vero modello, imposta OPENAI_API_KEY o OLLAMA_BASE_URL, riavvia ed esegui `librarian agents set-model AGENT provider/model`.",
    everything: "Ecco che cosa ricordo: {}",
    nothing_yet: "Non ricordo ancora niente di te.",
};

const PORTUGUESE: Phrases = Phrases {
    noted: "Anotado: {}.",
    replaced: "Anotado: {}. Substitui {old}.",
    forgotten: "Esquecido: {}.",
    known: "Já tinha isso anotado: {}.",
    told: "Disseste-me: {}.",
    told_before: "Disseste antes: {}.",
    told_on: "Em {day} disseste: {}.",
    archive_says: "No meu arquivo, de {day}: {}.",
    archived: "Arquivado: {}.",
    unknown: "Não sei. Nada do que me lembro responde a isso.",
    nearest: "Não sei ao certo. O mais próximo de que me lembro: {}.",
    failed: "Não consegui mudar a minha memória: {}",
    no_place: "Não consegui guardar isso: este agente não tem um bloco de memória em que eu possa escrever, ou não tem ferramenta para isso.",
    nothing_to_forget: "Não me lembro de nada assim, por isso não havia nada para esquecer.",
    hello: "Olá! Sou o guia integrado. Diz-me algo para lembrar ou pergunta por algo que me disseste.",
    welcome: "De nada.",
    identity: "Sou o guia integrado do Librarian: um conjunto de regras, não um modelo de linguagem.",
    abilities: "Guardo os factos que me dizes («lembra-te que …»), substituo-os quando os corriges, esqueço-os a pedido e cito-os quando perguntas.",
    connect: "Para falar com um modelo a sério, define OPENAI_API_KEY ou OLLAMA_BASE_URL, reinicia e executa `librarian agents set-model AGENT provider/model`.",
    everything: "Isto é o que me lembro: {}",
    nothing_yet: "Ainda não me lembro de nada sobre ti.",
};

const DUTCH: Phrases = Phrases {
    noted: "Genoteerd: {}.",
    replaced: "Genoteerd: {}. Dat vervangt {old}.",
    forgotten: "Vergeten: {}.",
    known: "Dat had ik al onthouden: {}.",
    told: "Je hebt me verteld: {}.",
    told_before: "Je zei eerder: {}.",
    told_on: "Op {day} zei je: {}.",
    archive_says: "In mijn archief, van {day}: {}.",
    archived: "In het archief gelegd: {}.",
    unknown: "Dat weet ik niet. Niets van wat ik onthouden heb, geeft daar antwoord op.",
    nearest: "Dat weet ik niet zeker. Het dichtst daarbij komt: {}.",
    failed: "Ik kon mijn geheugen niet veranderen: {}",
    no_place: "Ik kon dat niet onthouden: deze agent heeft geen geheugenblok waarin ik mag schrijven, of geen gereedschap daarvoor.",
    nothing_to_forget: "Zoiets heb ik niet onthouden, dus er was niets te vergeten.",
    hello: "Hallo! Ik ben de ingebouwde gids. Vertel me iets om te onthouden, of vraag naar iets dat je me verteld hebt.",
    welcome: "Graag gedaan.",
    identity: "Ik ben de ingebouwde gids van Librarian: een stel regels, geen taalmodel.",
    abilities: "Ik bewaar feiten die je me vertelt („onthoud dat …”), vervang ze als je ze verbetert, vergeet ze op verzoek en citeer ze als je ernaar vraagt.",
    connect: "Voor een echt model: stel OPENAI_API_KEY of OLLAMA_BASE_URL in, start opnieuw en voer `librarian agents set-model AGENT provider/model` uit.",
    everything: "Dit heb ik onthouden: {}",
    nothing_yet: "Ik heb nog niets over je onthouden.",
};

const JAPANESE: Phrases = Phrases {
    noted: "覚えました：{}。",
    replaced: "覚えました：{}。{old}と置き換えました。",
    forgotten: "忘れました：{}。",
    known: "もう覚えています：{}。",
    told: "こう聞いています：{}。",
    told_before: "先ほどこう言っていました：{}。",
    told_on: "{day}にこう言っていました：{}。",
    archive_says: "アーカイブの{day}の記録：{}。",
    archived: "アーカイブに入れました：{}。",
    unknown: "わかりません。覚えていることの中に答えがありません。",
    nearest: "わかりません。いちばん近いのはこれです：{}。",
    failed: "記憶を変更できませんでした：{}",
    no_place: "覚えられませんでした。書き込める記憶ブロックか、そのためのツールがありません。",
    nothing_to_forget: "そのようなことは覚えていないので、忘れるものがありませんでした。",
    hello: "こんにちは！内蔵ガイドです。覚えてほしいことを教えるか、前に教えたことを聞いてください。",
    welcome: "どういたしまして。",
    identity: "Librarianの内蔵ガイドです。ルールで動いていて、言語モデルではありません。",
    abilities: "教えてもらったことを覚え、訂正されたら置き換え、頼まれたら忘れ、聞かれたらそのまま引用します。",
    connect: "本物のモデルを使うには、OPENAI_API_KEYかOLLAMA_BASE_URLを設定して再起動し、`librarian agents set-model AGENT provider/model`を実行してください。",
    everything: "覚えていること：{}",
    nothing_yet: "まだ何も覚えていません。",
};

const CHINESE: Phrases = Phrases {
    noted: "记住了：{}。",
    replaced: "记住了：{}。它替换了{old}。",
    forgotten: "已忘记：{}。",
    known: "我已经记住了：{}。",
    told: "你告诉过我：{}。",
    told_before: "你之前说过：{}。",
    told_on: "你在{day}说过：{}。",
    archive_says: "我的档案中，{day}：{}。",
    archived: "已存入档案：{}。",
    unknown: "我不知道。我记住的内容里没有答案。",
    nearest: "我不知道确切的答案。我记得的最接近的是：{}。",
    failed: "我没能修改记忆：{}",
    no_place: "我没能记住：这个代理没有我可以写入的记忆块，或者没有相应的工具。",
    nothing_to_forget: "我没有记住这样的内容，所以没有什么可忘记的。",
    hello: "你好！我是内置向导。告诉我要记住的事，或者问我你告诉过我的事。",
    welcome: "不客气。",
    identity: "我是 Librarian 的内置向导：一套规则，不是语言模型。",
    abilities: "我会记住你告诉我的事，你更正时我会替换，你要求时我会忘记，你问起时我会原样引用。",
    connect: "要使用真正的模型，请设置 OPENAI_API_KEY 或 OLLAMA_BASE_URL，重新启动，然后运行 `librarian agents set-model AGENT provider/model`。",
    everything: "这是我记住的：{}",
    nothing_yet: "我还没有记住关于你的任何事。",
};

const RUSSIAN: Phrases = Phrases {
    noted: "Запомнил: {}.",
    replaced: "Запомнил: {}. Это заменяет {old}.",
    forgotten: "Забыто: {}.",
    known: "Это я уже запомнил: {}.",
    told: "Вы мне говорили: {}.",
    told_before: "Вы сказали раньше: {}.",
    told_on: "{day} вы сказали: {}.",
    archive_says: "В моём архиве, {day}: {}.",
    archived: "Помещено в архив: {}.",
    unknown: "Я не знаю. Ничто из того, что я помню, на это не отвечает.",
    nearest: "Я не знаю точно. Самое близкое из того, что я помню: {}.",
    failed: "Мне не удалось изменить память: {}",
    no_place: "Я не смог это запомнить: у этого агента нет блока памяти, в который я могу писать, или нет инструмента для этого.",
    nothing_to_forget: "Ничего такого я не помню, так что забывать было нечего.",
    hello: "Здравствуйте! Я встроенный гид. Скажите, что мне запомнить, или спросите о том, что вы мне говорили.",
    welcome: "Пожалуйста.",
    identity: "Я встроенный гид Librarian: набор правил, а не языковая модель.",
    abilities: "Я запоминаю факты, которые вы мне сообщаете («запомни, что …»), заменяю их, когда вы их исправляете, забываю по просьбе и цитирую, когда вы спрашиваете.",
    connect: "Чтобы говорить с настоящей моделью, задайте OPENAI_API_KEY или OLLAMA_BASE_URL, перезапустите и выполните `librarian agents set-model AGENT provider/model`.",
    everything: "Вот что я помню: {}",
    nothing_yet: "Я пока ничего о вас не помню.",
};
