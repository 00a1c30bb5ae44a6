//! HTML page with all pictures of a simulation and its report.

use super::palette::escape_markup;

/// Renders a page of pictures and a text, each with a heading, without scripts or external resources.
pub fn render_page(title: &str, pictures: &[(&str, String)], text: &str) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title>\n<style>body{{font-family:sans-serif;margin:1.5em;color:#222}}h1{{font-size:1.3em}}\
         h2{{font-size:1.05em;margin-top:1.6em}}pre{{background:#f6f8fa;padding:1em;overflow:auto}}\
         div{{overflow-x:auto;border:1px solid #ddd}}svg{{display:block;max-width:100%;min-width:56em;height:auto}}</style></head>\n<body>\n<h1>{0}</h1>\n",
        escape_markup(title)
    );
    for (heading, picture) in pictures {
        // On a narrow screen, the picture can be scrolled instead of being reduced to an unreadable size.
        page += &format!("<h2>{}</h2>\n<div>{picture}</div>\n", escape_markup(heading));
    }
    page += "<h2>Summary</h2>\n<pre>";
    page.extend(text.lines().map(|line| escape_markup(line) + "\n"));
    page += "</pre>\n</body></html>\n";
    page
}
