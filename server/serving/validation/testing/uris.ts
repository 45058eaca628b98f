import fc from "fast-check"

const part = (...texts: string[]) => fc.constantFrom(...texts)
const segment = fc.oneof(
  part("", "a", "a:b", "@", "%41", "%zz", "%4", "~!$&'()*+,;=", "é", " ", "[", '"', "|", "\\"),
  fc.string({ maxLength: 6 }),
)
const host = fc.oneof(
  part("", "a", "a.example", "127.0.0.1", "%c3%a9", "%ff", "%ed%a0%80", "a_b", "a b", "é"),
  part("[::]", "[::1]", "[1:2:3:4:5:6:7:8]", "[1::8]", "[1:2:3:4:5:6:7::]", "[::2:3:4:5:6:7:8]", "[::ffff:1.2.3.4]"),
  part(
    "[1:2:3:4:5:6:1.2.3.4]",
    "[1.2.3.4]",
    "[::01.2.3.4]",
    "[::1.2.3]",
    "[::1.2.3.256]",
    "[12345::]",
    "[1::2::3]",
    "[:1]",
  ),
  part(
    "[::1%25eth0]",
    "[::1%25]",
    "[::1%eth0]",
    "[::1%25%41]",
    "[v1.a:b]",
    "[v1.]",
    "[vg.a]",
    "[V1.a]",
    "[]",
    "[",
    "[::1",
    "]",
  ),
)
const authority = fc
  .tuple(part("", "", "u@", "u:p@", "u@v@", "%41@", "[@", "@"), host, part("", "", ":", ":1", ":65536", ":a", "::"))
  .map((parts) => parts.join(""))
const path = fc.array(segment, { maxLength: 3 }).map((parts) => parts.join("/"))
const before = part("https:", "https:", "http:", "a+b-c.1:", "A:", "1a:", ":", "", "é:", "a b:")
const slashes = part("//", "//", "//", "", "/", "///")
const after = part("", "", "?", "?a=b", "?a/b?c", "?[", "#", "#a", "#a#b", "?a#b", "#é", "/", "/a", "/%", "\n", " ")

/** Texts that are URIs or nearly URIs. */
export const uriTexts = fc.tuple(before, slashes, authority, part("", "/"), path, after).map((parts) => parts.join(""))
