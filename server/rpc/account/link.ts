// Links a provider account to the caller's identity. The session proves the identity; the credential proves the
// account.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { normalizeEmail, verifiedEmail } from "@signet/kernel/identity/first-login"
import { planLink } from "@signet/kernel/identity/linking"
import type { Vouched } from "@signet/kernel/identity/provider-ports"
import { newId, type ProviderAccountId } from "@signet/kernel/ids"
import type { AccountKey, App, ProviderAccount, ProviderClient } from "@signet/kernel/records"
import type { LinkProviderAccountRequest } from "@signet/proto/auth/v1/account_service"
import { sessionUserOf } from "../../serving/call/call.ts"
import { ofUser } from "../audit/audit.ts"
import { accountKeyOf, sealProviderToken } from "../auth/sign-in/account.ts"
import { loadConfiguration } from "../auth/sign-in/configuration.ts"
import { countingGuesses } from "../auth/sign-in/guesses.ts"
import { useProof } from "../auth/sign-in/magic-link.ts"
import type { Proof } from "../auth/sign-in/proof.ts"
import { vouchOrAudit } from "../auth/sign-in/vouch.ts"
import { encode } from "../base64url.ts"
import type { Deps } from "../deps.ts"
import { limit, networkOf } from "../limit.ts"
import { platformOf, providerOf } from "../parse.ts"
import { notManaged, onOwnIdentity, type Self } from "./self.ts"

export async function linkAccount(
  deps: Deps,
  context: HandlerContext,
  request: LinkProviderAccountRequest,
): Promise<ProviderAccount> {
  const user = sessionUserOf(context)
  const proof = proofOf(request)
  const { provider, platform, connection } = request
  const way = { appId: user.appId, provider: providerOf(provider), platform: platformOf(platform), connection }
  const { app, client } = await loadConfiguration(deps, way)
  if (!app.settings.managesIdentity) throw notManaged()
  const failure = { ...ofUser(user), kind: "provider_account.linked", outcome: "FAILURE" } as const
  const ask = () => vouchOrAudit({ deps, app, client }, proof, failure)
  const vouched = await limited(deps, context, proof, ask)
  return onOwnIdentity(deps, context, (self) => link({ ...self, app, client, vouched }, proof))
}

/** Counts the attempt in the limits of a sign-in with the same proof. */
async function limited(deps: Deps, context: HandlerContext, proof: Proof, ask: () => Promise<Vouched>) {
  switch (proof.is) {
    case "password":
      return countingGuesses(deps, context, { email: proof.email, device: undefined }, ask)
    case "magicLink": {
      const token = encode(deps.secrets.hash("rate-limit", proof.tokenHash))
      await limit(deps, context, "magic_link_confirm", { ip: networkOf(context), token })
      return ask()
    }
    case "session":
    case "external":
      await limit(deps, context, "login", { ip: networkOf(context) })
      return ask()
  }
}

function proofOf({ credential, nonce, codeVerifier }: LinkProviderAccountRequest): Proof {
  // A link starts no transaction, so a server-issued nonce is refused.
  const direct = { nonce, transaction: "", deviceId: "" }
  switch (credential.case) {
    case "idToken":
      return { is: "external", credential: { is: "idToken", idToken: credential.value }, ...direct }
    case "authorizationCode":
      return { is: "external", credential: { is: "code", ...credential.value }, ...direct }
    case "providerSession":
      return { is: "session", accessToken: credential.value }
    case "emailPassword":
      return { is: "password", email: credential.value.email.trim(), password: credential.value.password }
    case "magicLinkTokenHash":
      return { is: "magicLink", tokenHash: credential.value, codeVerifier }
    case undefined:
      throw new Refused("INVALID_FIELD", { message: "credential is required", metadata: { field: "credential" } })
  }
}

interface Linking extends Self {
  readonly app: App
  readonly client: ProviderClient
  readonly vouched: Vouched
}

/** Returned, not thrown: a throw would roll back the audit row and the single use of the provider's token. */
async function link(linking: Linking, proof: Proof): Promise<ProviderAccount | Refused> {
  const { tx, client, refuse } = linking
  // As every use of a token: under the account's lock.
  await lockByKey(linking, accountKeyOf(linking))
  const used = await useProof(linking, proof)
  if (used !== undefined) return refuse("provider_account.linked", used)
  if ((await tx.apps.lockSharedProviderClient(client.id)) !== "ACTIVE") {
    return refuse("provider_account.linked", "PROVIDER_DISABLED")
  }
  return attach(linking)
}

async function attach(linking: Linking): Promise<ProviderAccount | Refused> {
  const { tx, identity, record, refuse } = linking
  const key = accountKeyOf(linking)
  const found = await lockByKey(linking, key)
  const plan = planLink(found, identity.id)
  const target = (id: ProviderAccountId) => ({ type: "provider_account", id })
  switch (plan.is) {
    case "keep":
      return plan.account
    case "refuse": {
      const kind = plan.reason === "PROVIDER_ACCOUNT_IN_USE" ? "provider_account.conflict" : "provider_account.linked"
      return refuse(kind, plan.reason, found && target(found.id))
    }
    case "insert": {
      const account = newAccount(linking, key)
      // Another call inserted the account after the look-up: look it up again.
      if (!(await tx.accounts.insertAccount(account))) return attach(linking)
      await keepAddress(linking)
      await record("provider_account.linked", { target: target(account.id) })
      return account
    }
    case "link": {
      const account = relinked(linking, plan.account)
      await tx.accounts.updateAccount(account)
      await keepAddress(linking)
      await record("provider_account.linked", { target: target(account.id) })
      return account
    }
  }
}

async function lockByKey({ tx }: Pick<Self, "tx">, key: AccountKey): Promise<ProviderAccount | undefined> {
  const found = await tx.identities.findAccount(key)
  const account = found && (await tx.accounts.lockAccount(found.id))
  // The account was erased after the look-up, so its key is free.
  if (account !== undefined && account.subject !== key.subject) return lockByKey({ tx }, key)
  return account
}

function newAccount({ deps, nowMs, identity, client, vouched }: Linking, key: AccountKey): ProviderAccount {
  const id = newId("pac", nowMs, deps.random.bytes(10))
  return {
    ...key,
    id,
    identityId: identity.id,
    email: normalizeEmail(vouched.email),
    isRelayEmail: vouched.isRelayEmail,
    isContactable: true,
    refreshTokenSealed: sealProviderToken(deps, client, vouched, id),
    status: "LINKED",
    createdAtMs: nowMs,
  }
}

/** The account with its new owner. Address and token of another identity are not carried over. */
function relinked({ deps, identity, client, vouched }: Linking, account: ProviderAccount): ProviderAccount {
  const before = account.identityId === identity.id ? account : undefined
  return {
    ...account,
    identityId: identity.id,
    email: normalizeEmail(vouched.email) ?? before?.email ?? null,
    isRelayEmail: vouched.isRelayEmail,
    isContactable: true,
    refreshTokenSealed: sealProviderToken(deps, client, vouched, account.id) ?? before?.refreshTokenSealed ?? null,
    status: "LINKED",
  }
}

/** Stores the verified address as the identity's contact address if it has none. */
async function keepAddress({ tx, nowMs, identity, vouched }: Linking): Promise<void> {
  const email = verifiedEmail(vouched.email, vouched.emailVerified)
  if (identity.primaryEmail === null && email !== null) await tx.identities.setPrimaryEmail(identity.id, email, nowMs)
}
