// Accepts a magic link only for the app that requested it and, with a PKCE challenge, only with its verifier (RFC
// 7636).
import { emailKey } from "@signet/kernel/identity/first-login"
import { judgeLink } from "@signet/kernel/identity/magic-link"
import type { TokenUse } from "@signet/kernel/identity/provider-ports"
import { newId } from "@signet/kernel/ids"
import type { App, ProviderClient } from "@signet/kernel/records"
import { encode } from "../../base64url.ts"
import type { Deps } from "../../deps.ts"
import type { Entry } from "./entry.ts"
import { isPasswordHeld } from "./held-password.ts"
import type { Proof } from "./proof.ts"
import { transactionUse } from "./transaction.ts"

/** The longest lifetime of a link at any provider, in milliseconds. */
const linkLifeMs = 86_400_000

/** The recipient of a link: an address at one project. */
const addressee = (client: ProviderClient, email: string): string =>
  JSON.stringify([client.canonicalIssuer, client.providerTenant, emailKey(email)])

/** Stores the request, whether or not the address has an account. */
export async function rememberRequest(
  deps: Deps,
  of: { app: App; client: ProviderClient; email: string; codeChallenge: string },
): Promise<void> {
  const nowMs = deps.clock.nowMs()
  await deps.store.transaction((tx) =>
    tx.magicLinks.insert({
      id: newId("mlr", nowMs, deps.random.bytes(10)),
      emailHash: deps.secrets.hash("email", addressee(of.client, of.email)),
      appId: of.app.id,
      codeChallenge: of.codeChallenge === "" ? null : of.codeChallenge,
      expiresAtMs: nowMs + linkLifeMs,
    }),
  )
}

/** False if the proof would be refused anyway, so the link must not be used up. */
export function mayConsumeLink(app: App, proof: Proof): boolean {
  return proof.is !== "magicLink" || !app.settings.requireSameDevice || proof.codeVerifier !== ""
}

type Proven = Pick<Entry, "deps" | "tx" | "app" | "client" | "vouched" | "nowMs">

/** True if this app, and with `require_same_device` this device, requested the link. Then its requests are deleted. */
async function isRequester(
  { deps, tx, app, client, vouched, nowMs }: Proven,
  { codeVerifier }: Pick<Extract<Proof, { is: "magicLink" }>, "codeVerifier">,
): Promise<boolean> {
  if (vouched.email === null) return false
  const hashes = deps.secrets.hashes("email", addressee(client, vouched.email))
  const isTaken = judgeLink({
    requests: await tx.magicLinks.findLive(hashes, nowMs),
    app,
    challengeShown: codeVerifier === "" ? null : encode(deps.secrets.digest(codeVerifier)),
  })
  if (isTaken) await tx.magicLinks.forget(hashes)
  return isTaken
}

/** The single uses of a proof: of the provider's token, and of the sign-in transaction. */
export function usesOf({ deps, vouched }: Pick<Entry, "deps" | "vouched">, proof: Proof): readonly TokenUse[] {
  return [vouched.singleUse, transactionUse(deps, proof)].filter((use) => use != null)
}

/** Uses up the single-use parts of a proof. Returns the reason for a refusal, or undefined. */
export async function useProof(
  proven: Proven,
  proof: Proof,
): Promise<"INVALID_CREDENTIALS" | "MAGIC_LINK_INVALID" | "PROVIDER_TOKEN_REPLAYED" | undefined> {
  for (const { tokenHash, expiresAtMs } of usesOf(proven, proof)) {
    const isFirst = await proven.tx.idTokenUses.use(tokenHash, expiresAtMs)
    if (!isFirst) return proof.is === "magicLink" ? "MAGIC_LINK_INVALID" : "PROVIDER_TOKEN_REPLAYED"
  }
  // A session of the project may have been opened with the password.
  const isOfPassword = proof.is === "password" || proof.is === "session"
  if (isOfPassword && (await isPasswordHeld(proven))) return "INVALID_CREDENTIALS"
  return proof.is === "magicLink" && !(await isRequester(proven, proof)) ? "MAGIC_LINK_INVALID" : undefined
}
