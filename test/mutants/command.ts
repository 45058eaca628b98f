import type { Mutant } from "./mutant.ts"

const sealed = "clients/core/sealed.ts"
const keyring = "clients/node/secret-box/keyring.ts"
const passphraseTest = "clients/node/secret-box/passphrase.test.ts"
const flow = "clients/cli/sign-in/code-flow.ts"
const flowTest = "clients/cli/sign-in/code-flow.test.ts"
const loopback = "clients/cli/sign-in/loopback.ts"

/** Mutants of the CLI: where it stores secrets and how it signs a user in. */
export const commandMutants: readonly Mutant[] = [
  {
    fault: "the credential store is the library's choice",
    file: keyring,
    from: ', { linux: { store: "secret-service" } }))',
    to: "))",
    test: "clients/node/secret-box/os-store.test.ts",
    name: "the store is pinned, because the library's default falls back to a volatile store",
  },
  {
    fault: "sealed bytes open for anybody's scope",
    file: sealed,
    from: "if (toBase64url(scopeHash) !== toBase64url(await hashOf(scope))) {",
    to: "if (scopeHash.length === 0) {",
    test: "clients/core/sealed.test.ts",
    name: "open only with the scope, purpose and box that sealed them",
  },
  {
    fault: "the purpose is not authenticated",
    file: sealed,
    from: "  const additionalData = concat([label, header, utf8.encode(purpose)])\n  const parameters",
    to: "  const additionalData = concat([label, header, utf8.encode(purpose.slice(0, 0))])\n  const parameters",
    test: "clients/core/sealed.test.ts",
    name: "open only with the scope, purpose and box that sealed them",
  },
  {
    fault: "a passphrase file may say how little it is stretched",
    file: "clients/core/passphrase-key.ts",
    from: "memoryKiB: [19_456, 1_048_576]",
    to: "memoryKiB: [8, 1_048_576]",
    test: passphraseTest,
    row: "to weaker parameters",
    name: "to weaker parameters opens nothing, and stays as it is",
  },
  {
    fault: "passphrases are stretched with what is quick",
    file: "clients/core/passphrase-key.ts",
    from: "memoryKiB: 65_536",
    to: "memoryKiB: 19_456",
    test: passphraseTest,
    name: "a new file is stretched with 64 MiB, three passes and one lane",
  },
  {
    fault: "the answer of any sign-in is taken",
    file: flow,
    from: "validateAuthResponse(metadata, { client_id: clientId }, answer, state)",
    to: 'validateAuthResponse(metadata, { client_id: clientId }, answer, answer.searchParams.get("state") ?? "")',
    test: flowTest,
    name: "on a machine without a browser, the final address is read from standard input",
  },
  {
    fault: "any page in the browser ends a sign-in",
    file: loopback,
    from: ' && asked.searchParams.get("state") === state',
    to: "",
    test: flowTest,
    row: "of another sign-in",
    name: "an answer of another sign-in, as any page could send it, is none: the right one is waited for",
  },
  {
    fault: "the loopback server answers for any host",
    file: loopback,
    from: " && request.headers.host === url.host",
    to: "",
    test: flowTest,
    name: "a request for another path or host does not end the wait",
  },
  {
    fault: "a browser's command line holds the address",
    file: "clients/cli/sign-in/open-browser.ts",
    from: "const address = pathToFileURL(file).href",
    to: "const address = url",
    test: "clients/cli/sign-in/open-browser.test.ts",
    name: "no command line contains the address: the browser opens a file of the user",
  },
  {
    fault: "tokens travel to other machines without TLS",
    file: "clients/cli/profiles.ts",
    from: 'if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {',
    to: 'if (url.protocol === "http:" && url.hostname === "") {',
    test: "clients/cli/profiles.test.ts",
    row: "http://auth.example",
    name: '"http://auth.example" is none',
  },
]
