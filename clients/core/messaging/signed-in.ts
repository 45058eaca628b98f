import type { Session } from "../session.ts"
import { MessagingError } from "./errors.ts"
import type { MessagingSession } from "./session.ts"

export interface SignedInOptions {
  /** `app_…`: what the identity client was configured with. */
  readonly appId: string
  /** Of the messaging service. Default: the auth service's own. */
  readonly audience?: string
}

/**
 * What a messenger needs of the identity client. It stays with the person who is signed in now: after somebody else has
 * signed in, every call is refused.
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
    if (!isTheirs) throw new MessagingError("WRONG_USER", "somebody else is signed in now, or nobody")
    return given
  }
  return {
    ...{ appId, tenantId, userId },
    accessToken: () => theirs(session.accessToken(audience)),
    renewToken: () => theirs(session.renewedToken(audience)),
  }
}
