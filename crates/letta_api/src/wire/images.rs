//! Images of messages in Letta's words.

use domain::{Image, ImageDetail, ImageError, ImageSource};
use serde::{Deserialize, Serialize};

/// Where an image is, as clients are shown it.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Source<'a> {
    Url { url: &'a str },
    Base64 { media_type: &'static str, data: &'a str, detail: Option<&'static str> },
}

impl<'a> From<&'a Image> for Source<'a> {
    fn from(image: &'a Image) -> Self {
        match &image.source {
            // Letta has no detail here.
            ImageSource::Url { url } => Self::Url { url },
            ImageSource::Base64 { media_type, data } => {
                let detail = image.detail.map(ImageDetail::as_str);
                Self::Base64 { media_type: media_type.as_str(), data, detail }
            }
        }
    }
}

/// Where an image is, as clients say it.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum SourceBody {
    Url {
        url: String,
    },
    Base64 {
        media_type: String,
        data: String,
        #[serde(default)]
        detail: Option<String>,
    },
    /// A file of Letta's own store, which this server does not have.
    Letta {},
}

impl SourceBody {
    /// The image; none where it is a file of a store that is not here.
    pub(crate) fn into_image(self) -> Result<Option<Image>, ImageError> {
        match self {
            Self::Url { url } => Ok(Some(Image { source: ImageSource::from_url(&url)?, detail: None })),
            Self::Base64 { media_type, data, detail } => {
                let detail = detail.as_deref().map(ImageDetail::parse).transpose()?;
                Ok(Some(Image { source: ImageSource::from_base64(&media_type, &data)?, detail }))
            }
            Self::Letta {} => Ok(None),
        }
    }
}
