import { Refused } from "@signet/kernel/errors"
import { guardPort } from "../../port.ts"
import { jsonOf, type Target } from "./target.ts"

export const portTarget: Target = (world) => {
  const port = guardPort(world, (_: unknown, caller) => caller?.principal.id ?? null)
  return async ({ authorization, request }) => {
    try {
      return { allow: true, caller: await port({ authorization, values: new Map() }, jsonOf(request)) }
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const { reason, status, message, metadata } = error
      return { allow: false, reason, status, message, metadata }
    }
  }
}
