import type { DurableEnv } from "../env.ts"
import { StoredObject } from "../object.ts"

/** Who has a name. */
export interface Holder {
  /** An id: of a device, or of a conversation. */
  readonly owner: string
  /** Where it is found; empty when the id says that. */
  readonly at: string
}

const steps = ["create table holder (id integer primary key check (id = 1), owner text not null, at text not null)"]

/** A name that one owner has: a leaf key, or a pair of users. */
export abstract class NameObject extends StoredObject {
  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, { holder: steps })
  }

  holder(): Holder | undefined {
    return this.isBlank() ? undefined : this.sql.row<Holder>("select owner, at from holder")
  }

  /** Gives the name to whoever takes it first. @returns Who has it now. */
  take(holder: Holder): Holder {
    this.transact(() =>
      this.sql.run(
        "insert into holder (id, owner, at) values (1, ?, ?) on conflict do nothing",
        holder.owner,
        holder.at,
      ),
    )
    return this.holder() ?? holder
  }

  /** Nobody has the name any more, when it was that owner's. */
  release(owner: string): void {
    if (!this.isBlank()) this.transact(() => this.sql.run("delete from holder where owner = ?", owner))
  }

  /** Gives the name to another, when it is still that owner's. @returns Who has it now. */
  replace(before: string, holder: Holder): Holder {
    this.transact(() =>
      this.sql.run("update holder set owner = ?, at = ? where owner = ?", holder.owner, holder.at, before),
    )
    return this.holder() ?? holder
  }
}
