import type { DurableEnv } from "../env.ts"
import { StoredObject } from "../object.ts"

/** The holder of a name. */
export interface Holder {
  /** The id of a device or conversation. */
  readonly owner: string
  /** The name of the object that stores the owner; empty if the owner's id determines it. */
  readonly at: string
}

const steps = ["create table holder (id integer primary key check (id = 1), owner text not null, at text not null)"]

/** A unique name with one owner: a leaf key, or a pair of users. */
export abstract class NameObject extends StoredObject {
  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, { holder: steps })
  }

  holder(): Holder | undefined {
    return this.isBlank() ? undefined : this.sql.row<Holder>("select owner, at from holder")
  }

  /** Assigns the name to the first caller. @returns The current holder. */
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

  /** Releases the name, if it is that owner's. */
  release(owner: string): void {
    if (!this.isBlank()) this.transact(() => this.sql.run("delete from holder where owner = ?", owner))
  }

  /** Passes the name to another owner, if it is still `before`'s. @returns The current holder. */
  replace(before: string, holder: Holder): Holder {
    this.transact(() =>
      this.sql.run("update holder set owner = ?, at = ? where owner = ?", holder.owner, holder.at, before),
    )
    return this.holder() ?? holder
  }
}
