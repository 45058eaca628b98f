// Every refusal that a caller can receive. The contract is proto/signet/authz/v1/reason.proto; docs/reference/errors.md
// says how to handle each. A test keeps the three consistent.
import { accessRefusals } from "./refusals/access.ts"
import { administrationRefusals } from "./refusals/administration.ts"
import { mailboxRefusals } from "./refusals/mailbox.ts"
import { messagingRefusals } from "./refusals/messaging.ts"
import type { Refusal, StatusCode } from "./refusals/refusal.ts"
import { requestRefusals } from "./refusals/request.ts"
import { sessionRefusals } from "./refusals/session.ts"
import { signInRefusals } from "./refusals/sign-in.ts"
import { tokenRefusals } from "./refusals/token.ts"

export type { StatusCode } from "./refusals/refusal.ts"

/** By reason. */
export const refusals = {
  ...accessRefusals,
  ...mailboxRefusals,
  ...signInRefusals,
  ...sessionRefusals,
  ...tokenRefusals,
  ...administrationRefusals,
  ...requestRefusals,
  ...messagingRefusals,
} as const satisfies Record<string, Refusal>

export type Reason = keyof typeof refusals

const isRefused = Symbol.for("signet.Refused")

/**
 * An expected refusal. Everything else that is thrown is a fault, whose text is never sent to a caller.
 *
 * `metadata` holds facts for the caller (ErrorInfo.metadata): names and numbers of the request, never secrets.
 */
export class Refused extends Error {
  /**
   * Also accepts instances from another copy of this module: a process may load the guard by `import` and by `require`.
   */
  static override [Symbol.hasInstance](value: unknown): value is Refused {
    return typeof value === "object" && value !== null && isRefused in value
  }

  override readonly name = "Refused"
  readonly reason: Reason
  readonly metadata: Readonly<Record<string, string>>

  constructor(reason: Reason, options: { message?: string; metadata?: Record<string, string>; cause?: unknown } = {}) {
    super(
      options.message ?? refusals[reason].message,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.reason = reason
    this.metadata = options.metadata ?? {}
    Object.defineProperty(this, isRefused, { value: true })
  }

  get code(): StatusCode {
    return refusals[this.reason].code
  }

  get status(): number {
    return refusals[this.reason].status
  }
}
