// Seals envelopes: a message for a mailbox, with the service's own context token or the authority of a received
// envelope.
import { create, toBinary } from "@bufbuild/protobuf"
import { envelopeSeconds } from "@signet/kernel/authz/envelope"
import type { PrincipalId } from "@signet/kernel/ids"
import { parseMailbox } from "@signet/kernel/machine/mailbox"
import type { Clock } from "@signet/kernel/ports"
import { EnvelopePayloadSchema, PostedEnvelopeSchema, type SignedEnvelope } from "@signet/proto/authz/v1/mailbox"
import type { Received } from "./mailbox.ts"
import { hex, sha256, signedBytes } from "./payload.ts"

interface SenderOptions {
  /** The sending service. */
  readonly principalId: PrincipalId
  /** ECDSA on P-256; may be non-extractable. */
  readonly privateKey: CryptoKey
  /** RFC 7638 thumbprint of the key. */
  readonly kid: string
  /** Returns the key's current certificate. Called for each envelope, so cache it and renew it before it expires. */
  readonly certificate: () => string | Promise<string>
  readonly clock: Clock
}

interface Post {
  readonly mailbox: string
  readonly message: Uint8Array
  readonly messageType?: string
  /** Lifetime in seconds: a day by default, at most seven days. */
  readonly lifeSeconds?: number
}

export interface Sender {
  /** @returns The bytes for a transport. @throws RangeError for an invalid mailbox or lifetime. */
  seal(
    post: Post & {
      /** A `ctx+jwt` addressed to this service. */
      readonly contextToken: string
      /** The subset of the context token's scopes for this message. */
      readonly scopes: readonly string[]
      readonly causationId?: string
      /** Default: the envelope's own id. */
      readonly correlationId?: string
    },
  ): Promise<Uint8Array>
  /**
   * Posts a message with the authority of a received envelope.
   *
   * @param post.scopes A subset of the received scopes; default is all of them.
   */
  forward(received: Received, post: Post & { readonly scopes?: readonly string[] }): Promise<Uint8Array>
}

const algorithm = { name: "ECDSA", hash: "SHA-256" }

export function createSender(options: SenderOptions): Sender {
  const { principalId, privateKey, kid, certificate, clock } = options

  async function sealed(
    post: Post,
    of: {
      readonly id: string
      readonly contextToken: string
      readonly scopes: readonly string[]
      readonly causationId: string
      readonly correlationId: string
      readonly parents: readonly SignedEnvelope[]
      readonly notAfter: number
    },
  ): Promise<Uint8Array> {
    const { lifeSeconds = envelopeSeconds.default } = post
    if (parseMailbox(post.mailbox) === undefined)
      throw new RangeError(`"${post.mailbox}" is not a mailbox: use AUDIENCE/NAME`)
    if (!(lifeSeconds >= 1 && lifeSeconds <= envelopeSeconds.max))
      throw new RangeError("the lifetime of an envelope must be 1 s to 7 days")
    const iat = Math.floor(clock.nowMs() / 1_000)
    const parent = of.parents.at(-1)
    const payload = toBinary(
      EnvelopePayloadSchema,
      create(EnvelopePayloadSchema, {
        envelopeId: of.id,
        issuerPrincipal: principalId,
        mailbox: post.mailbox,
        contextToken: of.contextToken,
        scopeSubset: [...of.scopes],
        messageType: post.messageType ?? "",
        messageSha256: await sha256(post.message),
        causationId: of.causationId,
        correlationId: of.correlationId,
        ...(parent === undefined ? {} : { parentSha256: await sha256(parent.payload) }),
        hop: of.parents.length,
        iat,
        exp: Math.min(iat + Math.floor(lifeSeconds), of.notAfter),
      }),
    )
    const sig = new Uint8Array(await crypto.subtle.sign(algorithm, privateKey, signedBytes(payload)))
    const own = { payload, kid, sig, certificate: await certificate() }
    return toBinary(
      PostedEnvelopeSchema,
      create(PostedEnvelopeSchema, { chain: [...of.parents, own], message: post.message }),
    )
  }

  return {
    seal({ contextToken, scopes, causationId = "", correlationId, ...post }) {
      const id = newEnvelopeId()
      const notAfter = Number.POSITIVE_INFINITY
      return sealed(post, {
        id,
        contextToken,
        scopes,
        causationId,
        correlationId: correlationId ?? id,
        parents: [],
        notAfter,
      })
    },

    forward({ chain, last }, { scopes = last.scopes, ...post }) {
      return sealed(post, {
        id: newEnvelopeId(),
        contextToken: "",
        scopes,
        causationId: last.id,
        correlationId: last.correlationId,
        parents: chain,
        notAfter: last.exp,
      })
    },
  }
}

/** 128 random bits. */
const newEnvelopeId = (): string => hex(crypto.getRandomValues(new Uint8Array(16)))
