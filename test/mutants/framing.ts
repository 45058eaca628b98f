import type { Mutant } from "./mutant.ts"

const framing = "server/framing"
const agreement = `${framing}/agreement.test.ts`
const commits = `${framing}/commit.test.ts`

/** Hand-written mutants of the MLS message parser, each with the test that detects it. */
export const framingMutants: readonly Mutant[] = [
  {
    fault: "the path's leaf is good at any place",
    file: `${framing}/leaf-node.ts`,
    from: "parts.push(vectorBytes(place.groupId), uint32Bytes(place.leafIndex))",
    to: "parts.push(vectorBytes(place.groupId), uint32Bytes(0))",
    test: agreement,
    name: "every commit has the engine's changes and its sender's signature",
  },
  {
    fault: "a commit's signature does not cover the epoch that it is of",
    file: `${framing}/transcript.ts`,
    from: "parts: [signed, groupContext]",
    to: "parts: [signed]",
    test: agreement,
    name: "every commit has the engine's changes and its sender's signature",
  },
  {
    fault: "a removal needs no path",
    file: `${framing}/commit.ts`,
    from: "if (adds.length === 0 && path === undefined)",
    to: "if (adds.length + removes.length === 0 && path === undefined)",
    test: commits,
    name: "that removes without a path",
  },
  {
    fault: "a part of a Welcome holds everybody's secrets",
    file: `${framing}/welcome.ts`,
    from: "return concat(head, vectorBytes(secrets.bytes), tail)",
    to: "return concat(head, vectorBytes(secrets.bytes, secrets.bytes), tail)",
    test: agreement,
    name: "a Welcome is split into one per joining member, identical to what ts-mls encodes for it",
  },
  {
    fault: "a Welcome is split whatever it grows to",
    file: `${framing}/welcome.ts`,
    from: 'if (largest > maxForOne) throw new FramingOversized("mls_welcome for one", maxForOne)',
    to: "",
    test: `${framing}/welcome.test.ts`,
    name: "a Welcome whose parts would be too large is refused before it is split",
  },
  {
    fault: "a leaf is accepted with more list elements than clients accept",
    file: `${framing}/leaf-node.ts`,
    from: "if (leafElements({ capabilities, extensions }) > maxInside.leafElements) {",
    to: "if (leafElements({ capabilities, extensions }) > 10 * maxInside.leafElements) {",
    test: `${framing}/key-package.test.ts`,
    name: "whose lists are too long together",
  },
]
