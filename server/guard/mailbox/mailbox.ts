// The guard for an actor's mailbox. The handler runs only for envelopes with verified sender, chain and authority;
// authority is checked at delivery.
import { denialOf } from "@signet/kernel/authz/authorize"
import type { AuthContext } from "@signet/kernel/authz/context"
import { brokenChain, type Envelope, misdelivery } from "@signet/kernel/authz/envelope"
import type { Freshness, Requirement } from "@signet/kernel/authz/requirement"
import { type Reason, Refused } from "@signet/kernel/errors"
import type { PrincipalId } from "@signet/kernel/ids"
import { parseMailbox } from "@signet/kernel/machine/mailbox"
import { longestTokenMs, skewSeconds } from "@signet/kernel/token/claims"
import type { SignedEnvelope } from "@signet/proto/authz/v1/mailbox"
import { jsonField } from "../json-field.ts"
import { refusedOf } from "../problem.ts"
import type { RevocationFeed } from "../revocation/feed.ts"
import { createDecideBy, type TargetOptions } from "../target.ts"
import { webTokenCrypto } from "../token-crypto.ts"
import type { CertificateOptions } from "./certificate.ts"
import { createFindContext } from "./context.ts"
import { createOpen, type OpenedEnvelope, type OpenOptions } from "./open.ts"
import { hex, readPosted, sha256 } from "./payload.ts"
import type { ReplayStore } from "./replay.ts"

export interface MailboxOptions<Message>
  extends TargetOptions,
    Pick<CertificateOptions, "issuer" | "contextKeys" | "clock" | "findCertificate">,
    Pick<OpenOptions, "isRevoked"> {
  /** `audience/name`, with the guard's audience. */
  readonly mailbox: string
  readonly replay: ReplayStore
  /** Parses a message of a type. An exception refuses the message. PATH and BODY read fields of the result. */
  readonly read: (message: Uint8Array, type: string) => Message
  /** The revocation feed. It provides `isRevoked` and withdraws the issuer's keys. */
  readonly revocations?: Pick<RevocationFeed, "isRevoked" | "withoutRevoked">
  /** Client ids or principal ids that may post here. Default: every service with a certificate for this mailbox. */
  readonly senders?: readonly string[]
  /**
   * Only services post here, on their own behalf, and handling is idempotent. Only then may the requirement accept the
   * authority at the time of sending (`freshness` with ALLOW, or longer than an access token's lifetime).
   */
  readonly isSystem?: boolean
  /** Lease of a delivery: time before another delivery may claim the envelope. 60,000 ms. */
  readonly leaseMs?: number
  readonly crypto?: CertificateOptions["crypto"]
  /** Maximum number of verified certificates, and of context tokens, in memory. 10,000 each. */
  readonly cacheSize?: number
}

/** The input of a handler: signet.authz.v1.ActorEnvelope. */
export interface ActorEnvelope<Message> {
  /** Undefined only if the requirement is public. */
  readonly auth: AuthContext | undefined
  readonly message: Message
  readonly messageType: string
  /** The envelope that caused this one; null for the first. */
  readonly causationId: string | null
  readonly correlationId: string
  readonly id: string
  /** The service that posted it. */
  readonly sender: { readonly principalId: PrincipalId; readonly clientId: string }
  /** Input for a sender's `forward`. */
  readonly received: Received
}

/** A verified chain of envelopes. */
export interface Received {
  readonly chain: readonly SignedEnvelope[]
  readonly last: Envelope
}

/** @returns The handler's result. @throws Refused, or the handler's exception. */
export type Receive<Output> = (posted: Uint8Array) => Promise<Output>

/** @throws Error at once if the requirement cannot be checked here. */
export function createMailbox<Message, Output>(
  options: MailboxOptions<Message>,
  handle: (envelope: ActorEnvelope<Message>) => Output | Promise<Output>,
): Receive<Output> {
  const { mailbox, clock, replay, read, senders, onDeny, leaseMs = 60_000, isSystem = false } = options
  const audience = parseMailbox(mailbox)?.audience
  if (audience === undefined) throw new Error(`"${mailbox}" is not a mailbox: use AUDIENCE/NAME`)
  if (!isSystem && takesOldAuthority(options.requirement, options.guard.defaultFreshness)) {
    throw new Error("only a mailbox of internal messages can use the authority at sending time")
  }
  const { revocations } = options
  const isRevoked = options.isRevoked ?? revocations?.isRevoked
  const verifier = {
    ...options,
    ...(isRevoked === undefined ? {} : { isRevoked }),
    contextKeys: revocations?.withoutRevoked(options.contextKeys) ?? options.contextKeys,
    crypto: options.crypto ?? webTokenCrypto,
    cacheSize: options.cacheSize ?? 10_000,
  }
  const open = createOpen(verifier)
  const findContext = createFindContext({ ...verifier, audience })
  const decide = createDecideBy(
    options,
    { PATH: (field) => field !== "", BODY: (field) => field !== "" },
    async (chain: readonly [Envelope, ...Envelope[]]) => {
      const context = await findContext(chain)
      if (typeof context !== "string") options.guard.introduce(context, chain[0].contextToken)
      if (typeof context === "string" || !isSystem) return context
      const isOwn = context.principal.id === chain.at(-1)?.sender.principalId && context.actor === null
      return context.principal.kind === "SERVICE" && isOwn ? context : "PRINCIPAL_KIND_NOT_ALLOWED"
    },
  )

  function refuse(reason: Reason): never {
    const deny = denialOf(reason)
    onDeny?.(deny, reason)
    throw refusedOf(deny)
  }

  function taken<Value extends object>(value: Value | Reason): Value {
    return typeof value === "string" ? refuse(value) : value
  }

  async function verified(posted: Uint8Array) {
    const { chain, message } = taken(readPosted(posted))
    const [signed] = chain.slice(-1)
    const last = taken(signed === undefined ? "ENVELOPE_MALFORMED" : await open(signed))
    const problem = misdelivery(last, { mailbox, senders, nowMs: clock.nowMs() })
    if (problem !== undefined) refuse(problem)
    if (await asked(replay.isDone(keyOf(last)))) refuse("ENVELOPE_REPLAYED")
    if (hex(await sha256(message)) !== last.messageDigest) refuse("ENVELOPE_MESSAGE_ALTERED")
    const before: OpenedEnvelope[] = []
    for (const parent of chain.slice(0, -1)) before.push(taken(await open(parent)))
    const broken = brokenChain([...before, last])
    if (broken !== undefined) refuse(broken)
    return { chain, before, last, message }
  }

  async function asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
    return answer.catch(() => refuse("UNAVAILABLE"))
  }

  return async (posted) => {
    const { chain, before, last, message } = await verified(posted)
    const value = once(() => readMessage(read, message, last.messageType))
    const [first = last, ...rest] = [...before, last]
    const decision = await decide([first, ...rest], () => (from, field) => {
      return from === "PATH" || from === "BODY" ? jsonField(value(), field) : undefined
    })
    if (!decision.allow) throw refusedOf(decision)
    const envelope: ActorEnvelope<Message> = {
      auth: decision.context,
      message: value(),
      messageType: last.messageType,
      causationId: last.causationId === "" ? null : last.causationId,
      correlationId: last.correlationId,
      id: last.id,
      sender: { principalId: last.sender.principalId, clientId: last.sender.clientId },
      received: { chain, last },
    }

    // Claimed last, so that an envelope from someone else cannot use up the key.
    const key = keyOf(last)
    const holder = crypto.randomUUID()
    const claim = { holder, leaseEndsAtMs: clock.nowMs() + leaseMs, forgetAtMs: (last.exp + 2 * skewSeconds) * 1_000 }
    switch (await asked(replay.claim(key, claim))) {
      case "done":
        return refuse("ENVELOPE_REPLAYED")
      case "busy":
        return refuse("UNAVAILABLE")
      case "claimed": {
        const output = await handled(handle, envelope, () => replay.release(key, holder))
        await replay.finish(key)
        return output
      }
    }
  }
}

/** Includes the sender: each sender chooses its own envelope ids. */
const keyOf = ({ sender, mailbox, id }: Envelope): string => `${mailbox} ${sender.principalId} ${id}`

async function handled<Message, Output>(
  handle: (envelope: ActorEnvelope<Message>) => Output | Promise<Output>,
  envelope: ActorEnvelope<Message>,
  release: () => Promise<void>,
): Promise<Output> {
  try {
    return await handle(envelope)
  } catch (error) {
    // If the release fails, too, the lease expires.
    await release().catch(() => undefined)
    throw error
  }
}

function readMessage<Message>(read: MailboxOptions<Message>["read"], message: Uint8Array, type: string): Message {
  try {
    return read(message, type)
  } catch (cause) {
    throw new Refused("MALFORMED_REQUEST", { cause })
  }
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function takesOldAuthority(requirement: Requirement, inherited: Freshness): boolean {
  const freshness = requirement.freshness ?? inherited
  switch (requirement.is) {
    case "public":
    case "bodyCredential":
      return false
    case "anyOf":
    case "allOf":
      return requirement.of.some((each) => takesOldAuthority(each, freshness))
    default:
      // Facts older than any access token exist only for context tokens, which live longer.
      return freshness.onStale === "ALLOW" || freshness.maxStalenessMs > longestTokenMs
  }
}
