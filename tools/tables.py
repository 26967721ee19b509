"""Tables in a Markdown page, between `<!-- begin NAME -->` and `<!-- end NAME -->`."""
import re


def block(text, name):
    """The part of `text` between the markers of `name` as a slice; ValueError where they are missing."""
    found = re.search(rf'<!-- begin {name} -->\n(.*?\n?)<!-- end {name} -->', text, re.DOTALL)
    if not found:
        raise ValueError(f'the page has no block {name}')
    return slice(*found.span(1))


def rewrite(path, tables):
    """Put what each of `tables`, name -> function that gives lines, says now into the page at `path`."""
    text = path.read_text()
    for name, table in tables.items():
        place = block(text, name)
        text = text[:place.start] + table() + text[place.stop:]
    path.write_text(text)
