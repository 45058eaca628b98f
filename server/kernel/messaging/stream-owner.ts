// The device and the session of an open stream, which ends with either of them.
import { Refused } from "../errors.ts"
import type { DeviceId, SessionId } from "../ids.ts"
import type { Session } from "../records.ts"
import { type SessionState, sessionState } from "../session/session.ts"
import { isReadable, type PlaceState, placeHeld } from "./moving.ts"
import type { MessagingDevice } from "./records.ts"

export interface StreamOwner {
  readonly deviceId: DeviceId
  /** Null for a caller without a session. */
  readonly sessionId: SessionId | null
}

/** Undefined for what is not stored. */
export interface StreamOwnerStates {
  readonly device: MessagingDevice["status"] | undefined
  /** The place of the device; missing where the look-up checks it. */
  readonly place?: PlaceState
  /** The session, or its state; null for an owner without one. */
  readonly session:
    | Pick<Session, "status" | "idleExpiresAtMs" | "absoluteExpiresAtMs">
    | SessionState
    | null
    | undefined
}

/**
 * Returns the states of the owners that may have ended, by their index. An owner that is left out is active.
 */
export type FindStreamOwners = (
  owners: readonly StreamOwner[],
  nowMs: number,
) => Promise<ReadonlyMap<number, StreamOwnerStates>>

/** Why a stream must end: its device or session has ended. Undefined if it may continue. */
export type EndingOf = (owner: StreamOwner) => Promise<Refused | undefined>

/** Why the stream of an owner must end; undefined if it may continue. */
export function decideStreamEnd({ device, place, session }: StreamOwnerStates, nowMs: number): Refused | undefined {
  if (!isReadable(place ?? "OPEN")) return placeHeld()
  if (device !== "ACTIVE") return new Refused("DEVICE_REVOKED")
  if (session === null) return undefined
  const state = typeof session === "object" ? sessionState(session, nowMs) : (session ?? "REVOKED")
  if (state === "ACTIVE") return undefined
  return new Refused(state === "EXPIRED" ? "SESSION_EXPIRED" : "SESSION_REVOKED")
}
