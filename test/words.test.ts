// The words of the documents: plain technical English, by the rules that a program can check. A sentence names its subject
// first, has at most 35 words, and uses the field's term. A reader judges the rest.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

const root = join(import.meta.dirname, "..")

/** What is checked: a name, its files, and how prose is read from one. Add comments and messages here, folder by folder. */
interface Corpus {
  readonly name: string
  readonly files: readonly string[]
  readonly proseOf: (text: string) => readonly string[]
}

const markdown = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && !/(^|\/)(node_modules|dist|target|\.\w+)\//.test(path))
    .map((path) => (folder === "." ? path : `${folder}/${path}`))
    .toSorted()

const corpora: readonly Corpus[] = [
  { name: "documents", files: markdown("docs"), proseOf: proseOfMarkdown },
  { name: "READMEs", files: markdown(".").filter((path) => !path.startsWith("docs/")), proseOf: proseOfMarkdown },
]

/** Sentences that stay, by an exact part of each, with the reason. A part that no sentence has fails. */
const justified: Readonly<Record<string, string>> = {
  "dropped: CODE (packages of an unfinished claim)": "a list of tables, which another test reads",
  "who is in which conversation, and when": "an item of a list, as the specification states it",
}

/** Terms by which a reader is misled, and what to say. A homely word that also has a plain use is left to readers. */
const terms: readonly (readonly [RegExp, string])[] = [
  [/\b(somebody|whoever|whomever)\b/i, "the actor: caller, client, subject, device"],
  [/\b(hand|hands|handed|give|gives|gave|given) out\b/i, "grant, issue, mint"],
  [/\boutlived\b/i, "expired"],
  [/\b(is|are) no more\b|\b(take|takes|taken|took) back\b/i, "revoke"],
  [/\b(is|are|was|were) (not taken|taken no more)\b|\b(does|do) not pass\b/i, "reject, refuse"],
  [/\bpapers\b/i, "credential, proof, receipt"],
  [/\b(tell|tells|told)\b/i, "report; name the event"],
  [/\b(let|lets|letting|bring|brings|brought) in\b|\b(put|puts) out\b/i, "join, add, remove"],
  [/\b(take|takes|taken|took|taking) in\b/i, "apply, process"],
  [/\banother story\b/i, "fork, equivocation"],
  [/\b(send|sent|sends) again\b|\bonce more\b/i, "retry"],
  [/\bwho listens\b/i, "reader, listener, subscriber"],
  [/\b(let|lets) go\b|\bsweeps? out\b|\bfor good\b/i, "drop, evict, garbage-collect; permanently"],
  [/\btoo much to\b|\bas many as there may be\b/i, "capacity reached, limit exceeded"],
  [/\bof before\b|\bgo(es)? on\b|\bwent on\b/i, "earlier; continue"],
]

const headless = /^(who|whoever|whom|whose|what|whatever)\b(?!.*\?$)/i
const mostWords = 35

/** Paragraphs, list items and table cells, without code, links' targets and headings. */
function proseOfMarkdown(text: string): readonly string[] {
  const lines = text
    .replaceAll(/^ *(```|~~~).*?^ *\1 *$/gms, "\n")
    .replaceAll(/<!--.*?-->/gs, "")
    .split("\n")
  const blocks: string[] = []
  let open: string[] = []
  const close = () => {
    if (open.length > 0) blocks.push(open.join(" "))
    open = []
  }
  for (const line of lines) {
    if (/^\s*$|^#{1,6} |^\s*\|?[-:| ]+\|?\s*$/.test(line)) close()
    else if (/^\s*\|/.test(line)) {
      close()
      blocks.push(...line.split(/(?<!\\)\|/).slice(1, -1))
    } else {
      if (/^\s*([-*]|\d+\.) /.test(line)) close()
      open.push(line.replace(/^\s*(>|[-*]|\d+\.) /, "").trim())
    }
  }
  close()
  return blocks.map(plain).filter((block) => block !== "")
}

/** The words of a block: code becomes one word, a link its text, unless the text is the name of a test. */
const plain = (block: string): string =>
  block
    .replaceAll(/`+[^`]+`+/g, "CODE")
    .replaceAll(/\[[^\]]*\]\([^)]*\.test\.ts\)/g, "TEST")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/<[^>\s]+>/g, "ADDRESS")
    .replaceAll(/[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}/g, "")
    .replaceAll(/\s+/g, " ")
    .trim()

/** A colon before a capital letter and a semicolon do not end a sentence: a reader still holds its beginning. */
const sentencesOf = (block: string): readonly string[] =>
  block
    .split(/(?<=[.!?][)"”]?)(?<!\b(?:e\.g|i\.e)\.) +(?=\S)/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.split(" ").length > 3)

const wordsOf = (sentence: string) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length

function defectsOf(sentence: string): readonly string[] {
  if (Object.keys(justified).some((part) => sentence.includes(part))) return []
  const found: string[] = []
  if (headless.test(sentence)) found.push("begins without a subject")
  for (const [pattern, instead] of terms) {
    const [match] = pattern.exec(sentence) ?? []
    if (match !== undefined) found.push(`"${match}": say ${instead}`)
  }
  const words = wordsOf(sentence)
  if (words > mostWords) found.push(`${words} words`)
  return found.map((defect) => `${defect}: ${sentence}`)
}

describe.each(corpora)("the words of $name", ({ files, proseOf }) => {
  test.each(files)("%s", (path) => {
    const sentences = proseOf(readFileSync(join(root, path), "utf8")).flatMap(sentencesOf)
    expect(sentences.flatMap(defectsOf)).toEqual([])
  })
})

test("every exception is used", () => {
  const all = corpora.flatMap(({ files, proseOf }) =>
    files.flatMap((path) => proseOf(readFileSync(join(root, path), "utf8"))),
  )
  expect(Object.keys(justified).filter((part) => !all.some((block) => block.includes(part)))).toEqual([])
})

test("sees each kind of defect", () => {
  expect(defectsOf("Whoever calls is told what is wrong.").length).toBe(3)
  expect(defectsOf("What does the server see?")).toEqual([])
  expect(defectsOf(`The server rejects ${"a very ".repeat(20)}long sentence.`)[0]).toMatch(/^45 words/)
  expect(
    proseOfMarkdown("# What it is\n\n| a cell | `code` |\n|---|---|\n\nSome [text](x.md) of `two\nlines`.\n"),
  ).toEqual(["a cell", "CODE", "Some text of CODE."])
})
