import type { Session } from "../session.ts"
import { MessagingError } from "./errors.ts"
import type { MessagingSession } from "./session.ts"

export interface SignedInOptions {
  /** `app_…`, as in the configuration of the identity client. */
  readonly appId: string
  /** The audience of the messaging service. Default: the auth service's own. */
  readonly audience?: string
}

/**
 * Adapts an identity client to a messenger. It is bound to the user who is signed in now: after another user has signed
 * in, every call is refused.
 *
 * @throws MessagingError NOT_SIGNED_IN
 */
export async function messagingSession(
  session: Pick<Session, "current" | "ready" | "accessToken" | "renewedToken">,
  { appId, audience }: SignedInOptions,
): Promise<MessagingSession> {
  await session.ready
  const { current } = session
  if (current.is !== "signedIn") throw new MessagingError("NOT_SIGNED_IN", "nobody is signed in")
  const { principalId: userId, tenantId } = current.user
  const theirs = async (token: Promise<string>): Promise<string> => {
    const given = await token
    const now = session.current
    const isTheirs = now.is === "signedIn" && now.user.principalId === userId && now.user.tenantId === tenantId
    if (!isTheirs) throw new MessagingError("WRONG_USER", "another user is signed in, or nobody")
    return given
  }
  return {
    ...{ appId, tenantId, userId },
    accessToken: () => theirs(session.accessToken(audience)),
    renewToken: () => theirs(session.renewedToken(audience)),
  }
}
