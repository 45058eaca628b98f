// Turns the kernel's decisions into refusals and records.
import { type Move, step } from "@signet/kernel/administration/moves"
import type { Problem } from "@signet/kernel/administration/problem"
import { Refused } from "@signet/kernel/errors"

/** @throws Refused with the problem, if there is one. */
export function refuse(problem: Problem | undefined): void {
  if (problem !== undefined) throw refusalOf(problem)
}

export function refusalOf({ reason, field, message }: Problem): Refused {
  return new Refused(reason, { metadata: { field }, ...(message === undefined ? {} : { message }) })
}

/**
 * The record after the move; undefined if it already has the status.
 *
 * @throws Refused STATE_CONFLICT
 */
export function moved<Status extends string, T extends { status: Status }>(
  record: T,
  move: Move<Status>,
): T | undefined {
  switch (step(record.status, move)) {
    case "go":
      return { ...record, status: move.to }
    case "stay":
      return undefined
    case "refuse":
      throw new Refused("STATE_CONFLICT", { metadata: { status: record.status } })
  }
}

/** A message field that validation requires. @throws Refused INVALID_FIELD if it is missing. */
export function given<T>(message: T | undefined, field: string): T {
  if (message === undefined) throw new Refused("INVALID_FIELD", { metadata: { field } })
  return message
}

/** @throws Refused INVALID_FIELD for a text that is empty or only white space. */
export function refuseBlank(text: string, field: string): void {
  if (text.trim() === "") throw new Refused("INVALID_FIELD", { message: `${field} is required`, metadata: { field } })
}

/** True when two records serialize to the same JSON. */
export const isSame = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b)
