// The number of things that an action ends, and its English.
/** The number of things that an action ends; `isMore` if there are more than were read. */
export interface Amount {
  readonly count: number
  readonly isMore: boolean
}

/** A number of the service, which counts to 1,000. */
export const upTo1000 = (count: number): Amount => ({ count, isMore: count >= 1_000 })

/** Names what ends, such as "2 sessions, 1 grant end". @param of Amounts with their names for one, and for several. */
export const ending = (...of: readonly (readonly [Amount, one: string, several: string])[]): string => {
  const parts = of.map(([{ count, isMore }, one, several]) =>
    isMore ? `at least ${count} ${several}` : `${count} ${count === 1 ? one : several}`,
  )
  return `${parts.join(", ")} ${of.length === 1 && of[0]?.[0].count === 1 ? "ends" : "end"}`
}

/** The number of items of a list's first page, as a count that says whether there are more. */
export const amountOf = (items: readonly unknown[], nextPageToken: string): Amount => ({
  count: items.length,
  isMore: nextPageToken !== "",
})
