import type { Sql } from "../sql.ts"

/** The step also creates the table of `sweep.ts`: a step that has run on stored objects cannot change. */
export const ownerSteps = [
  `create table owner (id integer primary key check (id = 1), user text not null);
  create table sweep (id integer primary key check (id = 1), at integer)`,
]

/** The name of its user's object; undefined before the registration. */
export const findOwner = (sql: Sql): string | undefined => sql.row<{ user: string }>("select user from owner")?.user

/** Assigns the device to this user permanently, unless it has one. */
export const putOwner = (sql: Sql, user: string): void =>
  sql.run("insert into owner (id, user) values (1, ?) on conflict do nothing", user)
