import type { ConversationId, PrincipalId } from "@signet/kernel/ids"
import type { DurableEnv } from "../env.ts"
import { StoredObject } from "../object.ts"

const placeSteps = [
  `create table conversation (id text primary key, created_at integer not null) without rowid;
  create table user (id text primary key) without rowid`,
] as const

/**
 * Which users and conversations there are at a place: the objects tell of themselves, at least once. For whoever has to
 * find them all, such as to move a tenant.
 */
export abstract class PlaceObject extends StoredObject {
  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, { place: placeSteps })
  }

  /** Again is no error. */
  addConversation(id: ConversationId, createdAtMs: number): void {
    this.transact(() =>
      this.sql.run("insert into conversation (id, created_at) values (?, ?) on conflict do nothing", id, createdAtMs),
    )
  }

  /** Again is no error. */
  addUser(id: PrincipalId): void {
    this.transact(() => this.sql.run("insert into user (id) values (?) on conflict do nothing", id))
  }

  /** By id, from after that one on. */
  conversations(page: { readonly after: ConversationId | null; readonly size: number }): readonly ConversationId[] {
    if (this.isBlank()) return []
    const text = "select id from conversation where id > ? order by id limit ?"
    return this.sql.rows<{ id: ConversationId }>(text, page.after ?? "", page.size).map(({ id }) => id)
  }

  /** By id, from after that one on. */
  users(page: { readonly after: PrincipalId | null; readonly size: number }): readonly PrincipalId[] {
    if (this.isBlank()) return []
    const text = "select id from user where id > ? order by id limit ?"
    return this.sql.rows<{ id: PrincipalId }>(text, page.after ?? "", page.size).map(({ id }) => id)
  }
}
