import { expect, test } from "vitest"
import { newId } from "../ids.ts"
import type { MagicLinkRequest } from "../ports.ts"
import { app } from "../testing/records.ts"
import { judgeLink } from "./magic-link.ts"

const plain: MagicLinkRequest = {
  id: newId("mlr", 1, new Uint8Array(10)),
  emailHash: new Uint8Array(32),
  appId: app.id,
  codeChallenge: null,
  expiresAtMs: 1,
}
const mine: MagicLinkRequest = { ...plain, codeChallenge: "mine" }
const others: MagicLinkRequest = { ...plain, codeChallenge: "others" }
const elsewhere: MagicLinkRequest = { ...mine, appId: newId("app", 9, new Uint8Array(10)) }
const later = (byMs: number, request: MagicLinkRequest) => ({ ...request, expiresAtMs: request.expiresAtMs + byMs })
const strict = { ...app, settings: { ...app.settings, requireSameDevice: true } }

test.each<[string, readonly MagicLinkRequest[], string | null, typeof app, boolean]>([
  ["a link is taken where it was asked for", [plain], null, app, true],
  ["one that nobody asked for is not", [], null, app, false],
  ["nor with any verifier", [], "mine", app, false],
  ["who asked with a challenge shows its verifier", [mine], "mine", app, true],
  ["also when the next mail was held back", [others, mine], "mine", app, true],
  ["another's verifier shows nothing", [others], "mine", app, false],
  ["a verifier that nobody asked for shows nothing", [plain], "mine", app, false],
  ["none is no way around a challenge", [mine], null, app, false],
  ["nor behind an older request without one", [mine, plain], null, app, false],
  ["another app's request is another app's", [elsewhere], "mine", app, false],
  ["so is a newer one of theirs", [{ ...elsewhere, codeChallenge: null }, plain], null, app, false],
  ["also for who shows a verifier", [{ ...elsewhere, codeChallenge: null }, mine], "mine", app, false],
  ["so is the link of who asked there and then here at once", [later(60_000, mine), elsewhere], "mine", app, false],
  ["with or without a challenge", [later(60_000, plain), elsewhere], null, app, false],
  ["but not when the mail was not held back", [later(60_001, mine), elsewhere], "mine", app, true],
  ["an app that asks for the same device takes none without a verifier", [plain], null, strict, false],
  ["and takes the right one", [mine], "mine", strict, true],
])("%s", (_, requests, challengeShown, app, expected) => {
  expect(judgeLink({ requests, app, challengeShown })).toBe(expected)
})
