// The service's sealing keys while one takes over from another. The keys themselves are in settings; the database holds
// which of them seals.

/** CURRENT seals. PREVIOUS only opens, while a rotation lasts. RETIRED does neither; its stamps of the audit stay verifiable. */
export type SealingKeyStatus = "CURRENT" | "PREVIOUS" | "RETIRED"

export interface SealingKeyRecord {
  /** Derived from the key, and says nothing of it. */
  readonly id: string
  readonly status: SealingKeyStatus
  readonly createdAtMs: number
  /** When no row was left under the key: servers may run without it. Null before, and for CURRENT. */
  readonly resealedAtMs: number | null
  /** The key's stamp key, sealed under CURRENT; null for CURRENT. */
  readonly stampSealed: Uint8Array | null
}

/** A running process, and the sealing keys of its settings. */
export interface SealingKeyHolder {
  readonly keyIds: readonly string[]
  readonly sealsWith: string
}

/** Where the stamps of a retired key end: at a checkpoint, named by its number and by the hash of its statement. */
export interface StampEnd {
  readonly checkpoint: bigint
  /** SHA-256 in hexadecimal. */
  readonly hash: string
}

/**
 * Whether a process with these keys can read and write what is there.
 *
 * @returns What is wrong, in a sentence for the operator.
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

export type RotationPlan =
  | { readonly is: "begin"; readonly from: string; readonly to: string }
  | { readonly is: "resume"; readonly from: string; readonly to: string }
  | { readonly is: "refuse"; readonly why: string }

/**
 * What `keys sealing rotate` does next.
 *
 * @param key The id of SIGNET_SEALING_KEY.
 * @param next The id of SIGNET_SEALING_KEY_NEXT.
 * @param holders The processes that run.
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

export type FinishPlan =
  | { readonly is: "finish"; readonly from: string }
  | { readonly is: "refuse"; readonly why: string }

/** What `keys sealing finish` does: the previous key ends when no process has it and no row is under it. */
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
