import type { Archives } from "@signet/kernel/messaging/ports"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"
import { userName } from "./names.ts"

/** Archives are stored in the object of their user, whose alarm erases what is due. */
export function durableArchives({ USERS }: DurableEnv): Archives {
  return {
    ofUser: (userId, place) => ask(() => USERS.getByName(userName(userId, place)).archives()),

    change: ({ userId, place, change }, nowMs, audit) =>
      ask(() => USERS.getByName(userName(userId, place)).changeArchives(change, nowMs, audit)),

    due: async () => [],

    forget: ({ userId, place }, id, nowMs) =>
      ask(() => USERS.getByName(userName(userId, place)).forgetArchive(id, nowMs)),
  }
}
