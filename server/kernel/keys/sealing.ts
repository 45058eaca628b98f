// Rules for rotating the service's sealing key. The settings hold the keys; the database records which one seals.

/**
 * CURRENT seals and opens. PREVIOUS only opens, during a rotation. RETIRED does neither, but its audit stamps stay
 * verifiable.
 */
type SealingKeyStatus = "CURRENT" | "PREVIOUS" | "RETIRED"

export interface SealingKeyRecord {
  /** Derived from the key; reveals nothing about it. */
  readonly id: string
  readonly status: SealingKeyStatus
  readonly createdAtMs: number
  /** When the last row under the key was re-sealed; servers may then run without it. Null before, and for CURRENT. */
  readonly resealedAtMs: number | null
  /** The stamp key, sealed under CURRENT; null for CURRENT. */
  readonly stampSealed: Uint8Array | null
}

/** A running process and the ids of the sealing keys in its settings. */
export interface SealingKeyHolder {
  readonly keyIds: readonly string[]
  readonly sealsWith: string
}

/** The checkpoint at which the stamps of a retired key end. */
export interface StampEnd {
  readonly checkpoint: bigint
  /** SHA-256 in hexadecimal. */
  readonly hash: string
}

/**
 * Checks that a process with these keys can read and write the stored data.
 *
 * @returns A sentence for the operator about the problem; undefined if there is none.
 */
export function judgeHeld(records: readonly SealingKeyRecord[], held: readonly string[]): string | undefined {
  for (const { id, status, resealedAtMs } of records) {
    const isHeld = held.includes(id)
    if (status === "RETIRED" && isHeld) return `The sealing key ${id} is retired: remove it from the settings.`
    if (status === "CURRENT" && !isHeld) {
      return `The active sealing key is ${id}: it must be SIGNET_SEALING_KEY or SIGNET_SEALING_KEY_NEXT.`
    }
    if (status === "PREVIOUS" && !isHeld && resealedAtMs === null) {
      return `Rows are still sealed under ${id}: keep it in the settings until \`keys sealing rotate\` has ended.`
    }
  }
  return undefined
}

type RotationPlan =
  | { readonly is: "begin"; readonly from: string; readonly to: string }
  | { readonly is: "resume"; readonly from: string; readonly to: string }
  | { readonly is: "refuse"; readonly why: string }

/**
 * Decides the next step of `keys sealing rotate`.
 *
 * @param key Id of SIGNET_SEALING_KEY.
 * @param next Id of SIGNET_SEALING_KEY_NEXT.
 * @param holders The running processes.
 */
export function planSealingRotation(
  records: readonly SealingKeyRecord[],
  { key, next }: { readonly key: string; readonly next: string | undefined },
  holders: readonly SealingKeyHolder[],
): RotationPlan {
  const refuse = (why: string): RotationPlan => ({ is: "refuse", why })
  if (next === undefined) return refuse("SIGNET_SEALING_KEY_NEXT must hold the new sealing key.")
  const wrong = judgeHeld(records, [key, next])
  if (wrong !== undefined) return refuse(wrong)
  const previous = records.find(({ status }) => status === "PREVIOUS")
  const current = records.find(({ status }) => status === "CURRENT")
  if (current === undefined) return refuse("The database has no active sealing key: start the server once.")
  if (previous !== undefined) {
    const isSame = [key, next].includes(previous.id)
    if (isSame) return { is: "resume", from: previous.id, to: current.id }
    return refuse(`The rotation to ${current.id} is not finished: run \`keys sealing finish\` first.`)
  }
  if (current.id === next)
    return refuse(`SIGNET_SEALING_KEY_NEXT equals the active sealing key ${next}: set a new key.`)
  const without = holders.filter(({ keyIds }) => !keyIds.includes(next)).length
  if (without > 0) {
    return refuse(
      `${without} running servers do not have the new key ${next}: restart them with SIGNET_SEALING_KEY_NEXT.`,
    )
  }
  return { is: "begin", from: key, to: next }
}

type FinishPlan = { readonly is: "finish"; readonly from: string } | { readonly is: "refuse"; readonly why: string }

/**
 * Decides the next step of `keys sealing finish`: the previous key is retired once no process holds it and no row is
 * sealed under it.
 */
export function planSealingFinish(
  records: readonly SealingKeyRecord[],
  held: readonly string[],
  holders: readonly SealingKeyHolder[],
): FinishPlan {
  const refuse = (why: string): FinishPlan => ({ is: "refuse", why })
  const previous = records.find(({ status }) => status === "PREVIOUS")
  if (previous === undefined) return refuse("No rotation of the sealing key is in progress.")
  const { id, resealedAtMs } = previous
  if (resealedAtMs === null) return refuse("Some rows are not yet sealed under the new key: run `keys sealing rotate`.")
  if (held.includes(id)) return refuse(`Remove the previous sealing key ${id} from the settings first.`)
  const having = holders.filter(({ keyIds }) => keyIds.includes(id)).length
  if (having > 0) return refuse(`${having} running servers still use the previous key ${id}: restart them without it.`)
  return { is: "finish", from: id }
}
