// Rate limits, lockouts and locked principals, for administrators of the installation: a limit belongs to no app.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { ServiceImpl } from "@connectrpc/connect"
import { toHex } from "@signet/canonical/bytes"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import { defaultLimits, type LockoutPolicy, type Window } from "@signet/kernel/limits/policy"
import type { LimitRefusal } from "@signet/kernel/limits/ports"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Lockout_Kind, type LockoutSchema } from "@signet/proto/auth/v1/limits"
import type { Deps } from "../deps.ts"
import { buildPageToken, parsePageToken } from "../page-token.ts"
import { principalShape } from "../shape.ts"
import { administer, requireInstallation, unresolved } from "./administer.ts"
import { wholeApp } from "./found.ts"

type Methods = "getLimits" | "listLockouts" | "liftLockout" | "listLockedPrincipals"

const defaultPageSize = 50

export function limits(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    getLimits: (_, context) =>
      administer(deps, context, "read", async (admin) => {
        requireInstallation(admin)
        const { windows, lockouts } = deps.limiter?.limits ?? defaultLimits
        return {
          enabled: deps.limiter !== null,
          rateLimits: Object.entries<Readonly<Record<string, Window>>>(windows).flatMap(([route, bySubject]) =>
            Object.entries(bySubject).map(([of, { limit, seconds }]) => ({
              name: `${route}.${of}`,
              calls: limit,
              period: durationOf(seconds),
            })),
          ),
          lockoutPolicies: Object.entries<LockoutPolicy>(lockouts).map(([name, policy]) => ({
            name,
            failures: policy.failures,
            period: durationOf(policy.seconds),
            firstLock: durationOf(policy.lockSeconds),
            longestLock: durationOf(policy.mostLockSeconds),
          })),
        }
      }),

    listLockouts: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        requireInstallation(admin)
        const page = pageOf(deps, ["lockouts"], request)
        const before = page.before && { untilMs: page.before.ms, key: bytesOfHex(page.before.id) }
        const found = await admin.tx.limitRefusals.list(admin.nowMs, { size: page.size + 1, before })
        const cursorOf = (last: LimitRefusal) => `${last.untilMs} ${toHex(last.key)}`
        const { shown, nextPageToken } = page.of(found, cursorOf)
        return { lockouts: shown.map(lockoutShape), nextPageToken }
      }),

    liftLockout: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        requireInstallation(admin)
        const lifted = await admin.tx.limitRefusals.lift(bytesOfHex(request.lockoutId), admin.nowMs)
        if (lifted === undefined) throw unresolved()
        const type = lifted.kind === "LOCK" ? "lockout" : "rate_limit"
        const target = { type, id: lifted.name }
        const { appId } = admin.caller
        await admin.record("ratelimit.lifted", { place: wholeApp(appId), target, subject: lifted.principalId })
        return {}
      }).then((answer) => {
        // Other processes ask the store again within seconds.
        deps.limiter?.refused.clear()
        return answer
      }),

    listLockedPrincipals: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        requireInstallation(admin)
        const page = pageOf(deps, ["locked-principals"], request)
        const id = page.before && parseId("prn", page.before.id)
        const before = page.before && id ? { expiresAtMs: page.before.ms, id } : null
        const found = await admin.tx.principals.listLocked({ size: page.size + 1, before })
        const { shown, nextPageToken } = page.of(found, ({ lock, id }) => `${lock?.expiresAtMs} ${id}`)
        return { principals: shown.map(principalShape), nextPageToken }
      }),
  }
}

/** A page of a list in descending order of a time, with an id for equal times. @throws Refused INVALID_FIELD */
function pageOf({ secrets }: Deps, filter: readonly string[], asked: { pageSize: number; pageToken: string }) {
  const size = asked.pageSize || defaultPageSize
  const text = parsePageToken(secrets, filter, asked.pageToken)
  const [ms, id = ""] = text?.split(" ") ?? []
  if (text !== null && !Number.isFinite(Number(ms))) throw new Refused("INVALID_FIELD")
  return {
    size,
    before: text === null ? null : { ms: Number(ms), id },
    /** @param found One record more than the page has, if there is a next page. */
    of<T>(found: readonly T[], cursorOf: (last: T) => string): { shown: readonly T[]; nextPageToken: string } {
      const shown = found.slice(0, size)
      const last = shown.at(-1)
      const isLast = last === undefined || found.length === shown.length
      return { shown, nextPageToken: isLast ? "" : buildPageToken(secrets, filter, cursorOf(last)) }
    },
  }
}

const lockoutShape = (of: LimitRefusal): MessageInitShape<typeof LockoutSchema> => ({
  id: toHex(of.key),
  kind: Lockout_Kind[of.kind],
  name: of.name,
  network: of.network ?? "",
  principalId: of.principalId ?? "",
  refusedAt: timestampFromMs(of.refusedAtMs),
  // The store counts in microseconds.
  expiresAt: timestampFromMs(Math.ceil(of.untilMs)),
})

const durationOf = (seconds: number) => durationFromMs(seconds * 1_000)
const bytesOfHex = (text: string): Uint8Array =>
  Uint8Array.from(text.match(/../g) ?? [], (two) => Number.parseInt(two, 16))
