// A mailbox that tokens are tried at: what a message carries is of whom the token is.
import { randomBytes } from "node:crypto"
import { createKeySet } from "@signet/guard/key-set"
import { createMailbox } from "@signet/guard/mailbox"
import { createEnvelopeKey } from "@signet/guard/mailbox/envelope-key"
import { createMemoryReplay } from "@signet/guard/mailbox-replay"
import { createSender } from "@signet/guard/mailbox-sender"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { newId } from "@signet/kernel/ids"
import { buildCertificateClaims } from "@signet/kernel/machine/envelope-certificate"
import { parseClaims } from "@signet/kernel/token/claims"
import { buildContextClaims } from "@signet/kernel/token/context-claims"
import { anybody, type Follower } from "../../support/followed.ts"
import { addMachine } from "../../support/machines.ts"
import { claimsOf } from "../../support/people.ts"
import type { TestServer } from "../../support/server.ts"

/** Whether a mailbox refuses a message that a service posts for whom the token is of. */
export async function openMailbox(
  server: TestServer,
  { guard, feed }: Follower,
): Promise<(token: string) => Promise<boolean>> {
  const { issuer, clock } = server.deps
  const { account } = await addMachine(server, { ownedAudiences: ["svc-web"] })
  const [key, mailbox] = [await createEnvelopeKey(), "svc-notes/inbox"]
  const certificate = () => {
    const nowSeconds = Math.floor(clock.nowMs() / 1_000)
    return server.keys.sign("ekc+jwt", {
      ...buildCertificateClaims({ issuer, account, key, mailboxes: [mailbox], nowSeconds }),
    })
  }
  const sender = createSender({ ...key, principalId: account.principalId, certificate, clock })
  const contextKeys = createKeySet({
    url: `${server.url}/.well-known/context-keys.json`,
    ...{ crypto: nodeTokenCrypto, clock, fetch },
  })
  const receive = createMailbox(
    {
      ...{ guard, mailbox, issuer, contextKeys, clock, requirement: anybody, revocations: feed },
      replay: createMemoryReplay({ clock }),
      read: () => ({}),
    },
    () => undefined,
  )
  const contexts = new Map<string, string>()
  /** As the service would give one for the token. */
  const contextOf = (token: string) => {
    const subject = parseClaims(claimsOf(token))
    if (typeof subject === "string") throw new Error(subject)
    const nowMs = clock.nowMs()
    return buildContextClaims({
      ...{ subject, sender: account.principalId, scopes: subject.scp, endsAtSeconds: undefined },
      ...{ tokenId: newId("jti", nowMs, randomBytes(10)), nowSeconds: Math.floor(nowMs / 1_000) },
    })
  }
  return async (token) => {
    const contextToken = contexts.get(token) ?? server.keys.sign("ctx+jwt", { ...contextOf(token) })
    contexts.set(token, contextToken)
    const posted = await sender.seal({ mailbox, contextToken, scopes: ["notes.read"], message: new Uint8Array() })
    return receive(posted).then(
      () => false,
      () => true,
    )
  }
}
