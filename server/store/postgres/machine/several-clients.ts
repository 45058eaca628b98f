// Calls of several clients in one statement, each counted only if the client's facts still have its tag.
import type { ClientQuestion } from "@signet/kernel/machine/ports"
import { countSeveralText, firstFurther } from "../limits/count-several.ts"
import { array } from "../sql.ts"
import { clientValues, taggedText } from "./client-facts.ts"

const [first, firstAfter] = [firstFurther, firstFurther + 6]
const types = ["text", "text", "text", "timestamptz", "text"]
const { facts, tag } = taggedText({ who: "one.who", tenant: "one.tenant", context: "one.context", now: "one.now_at" })

/** The number of the first parameter after those of severalClientsValues. */
export const firstAfterClients = firstAfter

/**
 * CTEs that count the calls of unchanged clients. `offset 0` keeps the plan that reads one client by its indexes.
 */
export const countClientsText = `same as (
  select one.client from unnest(${types.map((type, i) => array(first + i, type)).join(", ")})
    with ordinality as one (who, tenant, context, now_at, tag, client)
  where one.tag = (select ${tag} from ${facts} offset 0)
), ${countSeveralText(`select each.call from unnest(${array(first + 5, "bigint")}) with ordinality as each (client, call)
  where each.client in (select client from same)`)}`

/** The clients without repetition, with their tags, and the place of each call's client among them, from 1. */
export function severalClientsValues(
  calls: readonly { readonly client: ClientQuestion; readonly tag: string }[],
): readonly unknown[] {
  const clients: (readonly unknown[])[] = []
  const places = new Map<string, number>()
  const ofCalls = calls.map(({ client, tag }) => {
    const [who, tenant, context, now] = clientValues(client)
    const name = JSON.stringify([who, tenant, context, tag])
    const place = places.get(name) ?? clients.push([who, tenant, context, now, tag])
    places.set(name, place)
    return place
  })
  return [...[0, 1, 2, 3, 4].map((column) => clients.map((values) => values[column])), ofCalls]
}
