//! Finds a file's address in a page of a Python package index. Pure.
//!
//! Such a page is a list of links; some indexes write relative ones, some put a checksum behind the name.

use reqwest::Url;

/// The page of a package, for an index's address.
pub(super) fn page(index: &str, package: &str) -> Option<Url> {
    let url = Url::parse(&format!("{}/{package}/", index.trim_end_matches('/'))).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// The address of `file` among the links of a page that came from `from`.
pub(super) fn link(page: &str, from: &Url, file: &str) -> Option<Url> {
    let links = page.split('<').filter_map(href);
    let addresses = links.filter_map(|link| from.join(&unescaped(link)).ok());
    addresses.into_iter().find_map(|mut url| {
        url.set_fragment(None);
        let is_meant = url.path_segments()?.next_back()? == file && matches!(url.scheme(), "http" | "https");
        is_meant.then_some(url)
    })
}

/// The address in what follows a `<`.
fn href(tag: &str) -> Option<&str> {
    let attributes = tag.strip_prefix(['a', 'A'])?.split('>').next()?;
    let at = attributes.to_ascii_lowercase().find("href")?;
    let value = attributes.get(at + 4..)?.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value[1..].split(quote).next()
}

fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_in_all_their_forms() {
        let from = Url::parse("https://index.example/simple/my-pack/").unwrap();
        let check = |html: &str, expected: Option<&str>| {
            let found = link(html, &from, "my_pack-1.0-py3-none-any.whl");
            assert_eq!(found.as_ref().map(Url::as_str), expected, "{html}");
        };
        check(
            r#"<html><a href="../../files/my_pack-1.0-py3-none-any.whl#sha256=00" data-x="<">my_pack</a>"#,
            Some("https://index.example/files/my_pack-1.0-py3-none-any.whl"),
        );
        check(
            "<a href='old-0.9.whl'>old</a>\n<A rel=\"x\" HREF = 'https://files.example/ab/my_pack-1.0-py3-none-any.whl'>",
            Some("https://files.example/ab/my_pack-1.0-py3-none-any.whl"),
        );
        check(
            r#"<a href="/d/my_pack-1.0-py3-none-any.whl?a=1&amp;b=2">"#,
            Some("https://index.example/d/my_pack-1.0-py3-none-any.whl?a=1&b=2"),
        );
        check(r#"<a href="my_pack-1.0-py3-none-any.whl.metadata">"#, None);
        check(r#"<a href="file:///x/my_pack-1.0-py3-none-any.whl">"#, None);
        check("<a href=>", None);
        check("", None);
    }

    #[test]
    fn a_package_has_a_page() {
        for index in ["https://index.example/simple", "https://index.example/simple/"] {
            assert_eq!(page(index, "my-pack").unwrap().as_str(), "https://index.example/simple/my-pack/");
        }
        assert_eq!(page("ftp://index.example", "p"), None);
        assert_eq!(page("nonsense", "p"), None);
    }
}
