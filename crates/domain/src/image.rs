//! Images in messages: an address that the model's vendor fetches, or the image itself as base64 text.
//!
//! Nothing here looks into an image or fetches one. What can't be an image is refused before anybody keeps it, because
//! a vendor that refuses it later would refuse every request of that conversation.

use std::sync::Arc;

use crate::message::ContentPart;

/// Images that one message may hold.
pub const MAX_IMAGES: usize = 20;
/// Bytes of base64 text and of addresses that the images of one message may have together.
pub const MAX_IMAGE_BYTES: usize = 6 * 1024 * 1024;
/// Bytes of an image's address.
pub const MAX_IMAGE_URL: usize = 8 * 1024;
/// What stands for an image where only text can be shown.
pub const IMAGE_MARK: &str = "[image]";

/// An image of a message.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Image {
    pub source: ImageSource,
    /// How closely the model is to look; None leaves it to the vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<ImageDetail>,
}

/// Where an image is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ImageSource {
    /// On a server, from which the vendor fetches it.
    Url { url: Arc<str> },
    /// In the message itself.
    Base64 {
        media_type: ImageType,
        /// As the client sent it.
        data: Arc<str>,
    },
}

/// The kinds of images that vendors read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ImageType {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/gif")]
    Gif,
    #[serde(rename = "image/webp")]
    Webp,
}

/// How closely a model looks at an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageDetail {
    Auto,
    Low,
    High,
}

/// What is wrong with an image, or with the images of a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("an image's address must be an http:// or https:// URL, or a data: URL")]
    Address,
    #[error("an image's address can't be longer than {MAX_IMAGE_URL} bytes")]
    LongAddress,
    #[error("an image of the type `{0}` is not supported; use image/png, image/jpeg, image/gif or image/webp")]
    Type(String),
    #[error("an image's data must be base64 text with its padding")]
    Data,
    #[error("an image's `detail` can be auto, low or high, not `{0}`")]
    Detail(String),
    #[error("a message can't hold more than {MAX_IMAGES} images")]
    TooMany,
    #[error("the images of a message can't have more than {MAX_IMAGE_BYTES} bytes of base64 text together")]
    TooLarge,
}

impl ImageType {
    const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp];

    /// Its media type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// The kind that a media type names. `image/jpg` is no media type, but many clients write it.
    pub fn parse(text: &str) -> Result<Self, ImageError> {
        let text = if text.eq_ignore_ascii_case("image/jpg") { "image/jpeg" } else { text };
        let found = Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text));
        found.ok_or_else(|| ImageError::Type(shown(text)))
    }
}

impl ImageDetail {
    /// The word that clients and vendors use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Low => "low",
            Self::High => "high",
        }
    }

    /// The detail of that name.
    pub fn parse(text: &str) -> Result<Self, ImageError> {
        let found = [Self::Auto, Self::Low, Self::High].into_iter().find(|detail| detail.as_str() == text);
        found.ok_or_else(|| ImageError::Detail(shown(text)))
    }
}

impl ImageSource {
    /// The image at an address, or in it.
    pub fn from_url(url: &str) -> Result<Self, ImageError> {
        if let Some(rest) = after_scheme(url, "data:") {
            let (kind, data) = rest.split_once(',').ok_or(ImageError::Address)?;
            let kind = strip_suffix(kind, ";base64").ok_or(ImageError::Data)?;
            // Parameters of the media type say nothing about an image.
            return Self::from_base64(kind.split(';').next().unwrap_or_default(), data);
        }
        let rest = after_scheme(url, "https://").or_else(|| after_scheme(url, "http://"));
        let has_host = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#']));
        if !has_host || url.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err(ImageError::Address);
        }
        if url.len() > MAX_IMAGE_URL {
            return Err(ImageError::LongAddress);
        }
        Ok(Self::Url { url: url.into() })
    }

    /// The image that `data` is.
    pub fn from_base64(media_type: &str, data: &str) -> Result<Self, ImageError> {
        let media_type = ImageType::parse(media_type)?;
        if data.len() > MAX_IMAGE_BYTES {
            return Err(ImageError::TooLarge);
        }
        if is_base64(data) { Ok(Self::Base64 { media_type, data: data.into() }) } else { Err(ImageError::Data) }
    }

    /// Bytes of its address or its data.
    pub fn size(&self) -> usize {
        match self {
            Self::Url { url } => url.len(),
            Self::Base64 { data, .. } => data.len(),
        }
    }
}

/// Whether the images of one message are few and small enough.
pub fn check_images(content: &[ContentPart]) -> Result<(), ImageError> {
    let images = || content.iter().filter_map(ContentPart::as_image);
    if images().count() > MAX_IMAGES {
        return Err(ImageError::TooMany);
    }
    if images().map(|image| image.source.size()).sum::<usize>() > MAX_IMAGE_BYTES {
        return Err(ImageError::TooLarge);
    }
    Ok(())
}

fn after_scheme<'a>(url: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = url.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn strip_suffix<'a>(text: &'a str, suffix: &str) -> Option<&'a str> {
    let (rest, end) = text.split_at_checked(text.len().checked_sub(suffix.len())?)?;
    end.eq_ignore_ascii_case(suffix).then_some(rest)
}

/// Whether `text` is at least one byte in the usual alphabet, padded.
fn is_base64(text: &str) -> bool {
    let body = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let in_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !body.is_empty() && text.len().is_multiple_of(4) && body.bytes().all(in_alphabet)
}

fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_the_web_or_holds_the_image() {
        let url = |text: &str| Ok(ImageSource::Url { url: text.into() });
        let inline = |media_type| Ok(ImageSource::Base64 { media_type, data: "AAAA".into() });
        for (text, expected) in [
            ("https://example.com/a.png?x=1", url("https://example.com/a.png?x=1")),
            ("HTTP://h/a", url("HTTP://h/a")),
            ("data:image/png;base64,AAAA", inline(ImageType::Png)),
            ("Data:IMAGE/WEBP;name=a;Base64,AAAA", inline(ImageType::Webp)),
            ("data:image/jpg;base64,AAAA", inline(ImageType::Jpeg)),
            ("data:image/gif;base64,AAAA", inline(ImageType::Gif)),
            ("data:image/svg+xml;base64,AAAA", Err(ImageError::Type("image/svg+xml".to_owned()))),
            ("data:;base64,AAAA", Err(ImageError::Type(String::new()))),
            ("data:image/png,AAAA", Err(ImageError::Data)),
            ("data:image/png;base64", Err(ImageError::Address)),
            ("file:///etc/passwd", Err(ImageError::Address)),
            ("ftp://h/a.png", Err(ImageError::Address)),
            ("https://", Err(ImageError::Address)),
            ("https:///a", Err(ImageError::Address)),
            ("https://h/a b", Err(ImageError::Address)),
            ("https://h/a\0", Err(ImageError::Address)),
            ("", Err(ImageError::Address)),
            ("dåta:", Err(ImageError::Address)),
        ] {
            assert_eq!(ImageSource::from_url(text), expected, "{text}");
        }
        let long = format!("https://h/{}", "a".repeat(MAX_IMAGE_URL));
        assert_eq!(ImageSource::from_url(&long), Err(ImageError::LongAddress));
    }

    #[test]
    fn data_is_base64() {
        for (data, expected) in [
            ("AAAA", true),
            ("AA==", true),
            ("AAA=", true),
            ("+/09", true),
            ("", false),
            ("====", false),
            ("AAA", false),
            ("A===", false),
            ("AA=A", false),
            ("AA-_", false),
            ("AA\nA", false),
            ("AA A", false),
        ] {
            assert_eq!(is_base64(data), expected, "{data}");
        }
        let large = "A".repeat(MAX_IMAGE_BYTES + 4);
        assert_eq!(ImageSource::from_base64("image/png", &large), Err(ImageError::TooLarge));
    }

    #[test]
    fn a_message_holds_so_many_images_and_bytes() {
        let image = |data: String| {
            let source = ImageSource::from_base64("image/png", &data).unwrap();
            ContentPart::Image(Image { source, detail: None })
        };
        let many = |count: usize, size: usize| vec![image("A".repeat(size)); count];
        assert_eq!(check_images(&many(MAX_IMAGES, 4)), Ok(()));
        assert_eq!(check_images(&many(MAX_IMAGES + 1, 4)), Err(ImageError::TooMany));
        assert_eq!(check_images(&many(2, MAX_IMAGE_BYTES / 2)), Ok(()));
        assert_eq!(check_images(&many(2, MAX_IMAGE_BYTES / 2 + 4)), Err(ImageError::TooLarge));
    }

    /// This is what stands in the store.
    #[test]
    fn an_image_is_stored_in_this_shape() {
        let at = ImageSource::from_url("https://example.com/a.png").unwrap();
        let here = ImageSource::from_base64("image/jpeg", "AAAA").unwrap();
        let parts = [
            ContentPart::text("Look."),
            ContentPart::Image(Image { source: at, detail: None }),
            ContentPart::Image(Image { source: here, detail: Some(ImageDetail::Low) }),
        ];
        let stored = concat!(
            r#"[{"type":"text","text":"Look."},"#,
            r#"{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"AAAA"},"detail":"low"}]"#,
        );
        assert_eq!(serde_json::to_string(&parts).unwrap(), stored);
        assert_eq!(serde_json::from_str::<Vec<ContentPart>>(stored).unwrap(), parts);
    }
}
