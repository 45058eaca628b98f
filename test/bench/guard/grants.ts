// What the grant check costs, against Cedar on the same models with its policies parsed beforehand.
import { isHeldOn } from "@signet/kernel/authz/effective"
import fc from "fast-check"
import { cedarOf } from "../../support/grants/cedar.ts"
import { type GrantModel, grantModels } from "../../support/grants/model.ts"

interface Row {
  readonly name: string
  /** Microseconds of CPU a check, all threads of the process: the median over the models. */
  readonly "cpu us": number
  /** Of ours on the same models in the same run. */
  readonly "of ours": number
}

/** @param models At least 10. */
export function grantRows(models: number): readonly Row[] {
  const few = fc.sample(grantModels, { numRuns: models, seed: 1 })
  const many = few.slice(0, 10).map(withManyGrants)
  return [...rowsOf("a grant check, 6 grants at most", few), ...rowsOf("a grant check, 200 grants", many)]
}

function rowsOf(name: string, models: readonly GrantModel[]): readonly Row[] {
  const ours = median(
    models.map(({ snapshot, scopes, nowMs, permission, resource }) =>
      costOf(20_000, () => isHeldOn(snapshot, { scopes, nowMs }, permission, resource)),
    ),
  )
  const cedars = median(
    models.map((model) => {
      const ask = cedarOf(model)
      return costOf(50, () => ask(model.resource, false))
    }),
  )
  return [
    { name, "cpu us": ours, "of ours": 1 },
    { name: `${name}, Cedar`, "cpu us": cedars, "of ours": cedars / ours },
  ]
}

function costOf(times: number, check: () => unknown): number {
  for (let i = 0; i < times / 10; i++) check()
  const before = process.cpuUsage()
  for (let i = 0; i < times; i++) check()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}

/** The same with as many grants on other resources before those that there are. */
function withManyGrants(model: GrantModel): GrantModel {
  const { appId, tenantId, contextId } = model.resource
  const at = { appId, tenantId, contextId, expiresAtMs: null }
  const others = Array.from({ length: 200 - model.snapshot.grants.length }, (_, i) => ({
    ...at,
    roleId: "reader",
    resource: { type: "note", id: `other ${i}` },
  }))
  return { ...model, snapshot: { ...model.snapshot, grants: [...others, ...model.snapshot.grants] } }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
