import type { Tokens } from "../auth-calls.ts"
import { SignetError } from "../errors.ts"
import { createLiveSession, type LiveSessionDeps } from "../live-session.ts"
import type { SessionRecord } from "../record.ts"
import { createSessionStore } from "../session-store.ts"
import { memoryBox, memoryChannels, memoryLock, memoryStorage, random, testClock } from "./memory-platform.ts"

export const of = { appId: "app_1", authBaseUrl: "https://auth.example" }
export const user = (sessionId: string) => ({
  ...{ sessionId, identityId: "idn_1", principalId: "prn_1" },
  ...{ primaryEmail: undefined, tenantId: undefined, contextId: undefined },
})

/** A stored sign-in, and a service with a test's answers. */
export async function worldOf() {
  const clock = testClock()
  const storage = memoryStorage()
  const lock = memoryLock()
  const channel = memoryChannels()
  const sessions = createSessionStore(of, { storage, refreshToken: { in: "box", box: memoryBox() } })
  const presented: { token: string | undefined; retryKey: string; audiences: readonly string[] }[] = []
  let answer = async (record: SessionRecord, audiences: readonly string[]): Promise<Tokens> => ({
    refreshToken: `${record.refreshToken}'`,
    accessTokens: Object.fromEntries(audiences.map((audience) => [audience, `${audience} ${presented.length}`])),
    expiresIn: 600,
  })
  const open = (change: Partial<LiveSessionDeps> = {}) =>
    createLiveSession({
      ...{ clock, random, lock, sessions, audiences: ["auth"], channel: channel() },
      present(record, audiences) {
        presented.push({ token: record.refreshToken, retryKey: record.retryKey, audiences })
        return answer(record, audiences)
      },
      ...change,
    })
  const record = { user: user("ses_1"), refreshToken: "r", retryKey: "k", generation: 1, tokensGoodUntilMs: 0 }
  await sessions.put(record, "any")
  return {
    ...{ clock, sessions, storage, presented, open, record },
    says(next: typeof answer) {
      answer = next
    },
    refuses(
      reason: "RATE_LIMITED" | "UNREACHABLE" | "AUDIENCE_NOT_REGISTERED" | "REFRESH_TOKEN_REUSED",
      retryAfterMs?: number,
    ) {
      answer = async () => {
        throw new SignetError(reason, "no", { retryAfterMs })
      }
    },
  }
}
export const minutes = 60_000
