// Seals envelopes: a message for a mailbox, with a context of the service's, or on behalf of what was received.
import { create, toBinary } from "@bufbuild/protobuf"
import { envelopeSeconds } from "@signet/kernel/authz/envelope"
import type { PrincipalId } from "@signet/kernel/ids"
import { parseMailbox } from "@signet/kernel/machine/mailbox"
import type { Clock } from "@signet/kernel/ports"
import { EnvelopePayloadSchema, PostedEnvelopeSchema, type SignedEnvelope } from "@signet/proto/authz/v1/mailbox"
import type { Received } from "./mailbox.ts"
import { hex, sha256, signedBytes } from "./mailbox-payload.ts"

export interface SenderOptions {
  /** Of the service that sends. */
  readonly principalId: PrincipalId
  /** ECDSA on P-256; it need not be extractable. */
  readonly privateKey: CryptoKey
  /** The key's RFC 7638 thumbprint. */
  readonly kid: string
  /** The key's certificate as it is now. Asked for each envelope: keep it, and renew it before it expires. */
  readonly certificate: () => string | Promise<string>
  readonly clock: Clock
}

export interface Post {
  readonly mailbox: string
  readonly message: Uint8Array
  readonly messageType?: string
  /** Seconds; a day where it is not said, seven days at most. */
  readonly lifeSeconds?: number
}

export interface Sender {
  /** @returns What a transport carries. @throws RangeError for what no mailbox or no life is. */
  seal(
    post: Post & {
      /** `ctx+jwt`, addressed to this service. */
      readonly contextToken: string
      /** What the message carries of the context's scopes. */
      readonly scopes: readonly string[]
      readonly causationId?: string
      /** The envelope's own id where it is not said. */
      readonly correlationId?: string
    },
  ): Promise<Uint8Array>
  /**
   * Posts on with the authority that came with an envelope.
   *
   * @param post.scopes Of those that it carried; all of them where it is not said.
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
