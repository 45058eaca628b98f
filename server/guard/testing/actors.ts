// Test actors: services that send messages to each other, and the service that certifies them.
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { newId, type PrincipalId } from "@signet/kernel/ids"
import { buildCertificateClaims } from "@signet/kernel/machine/envelope-certificate"
import {
  EnvelopePayloadSchema,
  PostedEnvelopeSchema,
  type SignedEnvelope,
  type SignedEnvelopeSchema,
} from "@signet/proto/authz/v1/mailbox"
import { createLocalKeySet } from "../key-set.ts"
import { createEnvelopeKey, type EnvelopeKey } from "../mailbox/envelope-key.ts"
import { sha256, signedBytes } from "../mailbox/payload.ts"
import { createSender, type Sender } from "../mailbox/sender.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { createIssuer, encode, ids } from "./issuer.ts"

export interface Actor {
  readonly principalId: PrincipalId
  readonly clientId: string
  readonly key: EnvelopeKey
  readonly sender: Sender
  /** A certificate as signed now, with changed claims or header parameters. */
  certificate(change?: object, header?: object): string
}

interface ActorOptions {
  readonly clientId: string
  readonly principalId?: PrincipalId
  readonly ownedAudiences?: readonly string[]
  /** Patterns of mailboxes. */
  readonly mailboxes?: readonly string[]
}

export interface Forged {
  readonly payload?: MessageInitShape<typeof EnvelopePayloadSchema>
  readonly envelope?: MessageInitShape<typeof SignedEnvelopeSchema>
  readonly parents?: readonly SignedEnvelope[]
  readonly message?: Uint8Array
  /** Bytes appended after the payload's fields. */
  readonly extra?: Uint8Array
  /** The actor that signs with another actor's certificate. */
  readonly signer?: Actor
}

/** @param access The issuer of access tokens. Context tokens have the same subjects but other keys. */
export function createActors(access = createIssuer()) {
  const keys = { ...createIssuer(), kid: "context-1" }
  const jwk = { ...keys.jwk, kid: keys.kid }
  let made = 0

  /** Signs with the keys for context tokens. */
  function sign(typ: string, claims: object, header: object = {}): string {
    return keys.signParts(encode({ alg: "ES256", typ, kid: keys.kid, ...header }), encode(claims))
  }

  async function actor({ clientId, ownedAudiences = [clientId], mailboxes = [], ...of }: ActorOptions): Promise<Actor> {
    const principalId = of.principalId ?? newId("prn", 10 + made++, new Uint8Array(10))
    const key = await createEnvelopeKey()
    const account = { principalId, clientId, appId: ids.app, ownedAudiences }
    const certificate = (change: object = {}, header: object = {}): string => {
      const nowSeconds = Math.floor(access.clock.nowMs() / 1_000)
      const claims = buildCertificateClaims({ issuer: access.issuer, account, key, mailboxes, nowSeconds })
      return sign("ekc+jwt", { ...claims, ...change }, header)
    }
    const kept = certificate()
    const sender = createSender({ ...key, principalId, certificate: () => kept, clock: access.clock })
    return { principalId, clientId, key, sender, certificate }
  }

  /**
   * A context token of the issuer's user, valid for a day, with changed claims or header parameters; undefined removes
   * one.
   */
  function contextToken(of: Pick<Actor, "principalId">, change: object = {}, header: object = {}): string {
    const claims = { ...access.claims(), tenant_id: ids.tenant, aud: of.principalId }
    const exp = Math.floor(access.clock.nowMs() / 1_000) + 86_400
    return sign("ctx+jwt", { ...claims, exp, ...change }, header)
  }

  /** An envelope with arbitrary content, signed with the actor's key, including content that no sender sends. */
  async function forge(by: Actor, of: Forged = {}): Promise<Uint8Array> {
    const message = of.message ?? new Uint8Array([1])
    const iat = Math.floor(access.clock.nowMs() / 1_000)
    const fields = toBinary(
      EnvelopePayloadSchema,
      create(EnvelopePayloadSchema, {
        envelopeId: "0123456789abcdef",
        issuerPrincipal: by.principalId,
        mailbox: "svc-notes/inbox",
        contextToken: contextToken(by),
        scopeSubset: ["notes.read"],
        messageSha256: await sha256(message),
        correlationId: "work",
        hop: of.parents?.length ?? 0,
        iat,
        exp: iat + 600,
        ...of.payload,
      }),
    )
    const payload = new Uint8Array([...fields, ...(of.extra ?? [])])
    const key = { name: "ECDSA", hash: "SHA-256" }
    const sig = new Uint8Array(await crypto.subtle.sign(key, (of.signer ?? by).key.privateKey, signedBytes(payload)))
    const own = { payload, sig, kid: by.key.kid, certificate: by.certificate(), ...of.envelope }
    return toBinary(
      PostedEnvelopeSchema,
      create(PostedEnvelopeSchema, { chain: [...(of.parents ?? []), own], message }),
    )
  }

  return {
    access,
    /** For createMailbox. */
    contextKeys: createLocalKeySet({ jwks: () => [jwk] }, nodeTokenCrypto),
    sign,
    actor,
    contextToken,
    forge,
  }
}
