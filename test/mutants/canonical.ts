import type { Mutant } from "./mutant.ts"

const canonical = "proto/canonical"
const refusals = `${canonical}/refusals.test.ts`
const rows = `${canonical}/testing/refusals`

/** Hand-written mutants of the canonical encoding, each with the test that detects it. */
export const canonicalMutants: readonly Mutant[] = [
  {
    fault: "what is signed does not say what it is",
    file: `${canonical}/signed.ts`,
    from: "utf8(label), zero, length",
    to: "zero, length",
    test: `${canonical}/signed.test.ts`,
    name: "a signature of one kind of body does not verify for another kind",
  },
  {
    fault: "a promise is taken for a good signature",
    file: `${canonical}/issued.ts`,
    from: "ensure(good === true,",
    to: "ensure(Boolean(good),",
    test: `${canonical}/device-credential.test.ts`,
    name: "an asynchronous verifier is refused: a promise is not true",
  },
  {
    fault: "a credential need not be of the leaf that carries it",
    file: `${canonical}/device-credential.ts`,
    from: "equalBytes(body.leafSignatureKey, expected.leafKey)",
    to: "true",
    test: refusals,
    name: "credential, on another leaf key: CRED_LEAF_KEY_MISMATCH",
    table: `${rows}/credential.ts`,
    row: "on another leaf key",
  },
  {
    fault: "where no tenant is expected, any will do",
    file: `${canonical}/bytes.ts`,
    from: "return equalBytes(field, expected ?? absent)",
    to: "return expected === undefined || equalBytes(field, expected)",
    test: refusals,
    name: "credential, of a tenant where none is expected: CRED_WRONG_TENANT",
    table: `${rows}/credential.ts`,
    row: "of a tenant where none is expected",
  },
  {
    fault: "a device list may have another past",
    file: `${canonical}/device-list.ts`,
    from: "ensure(equalBytes(previousHash, seen.hash)",
    to: "ensure(previousHash.length > 0",
    test: `${canonical}/device-list.test.ts`,
    name: "a next list after another predecessor is a fork",
  },
]
