// A form over one record: the record as it was opened, what the person typed, and a save that overwrites nothing.
import { type Action, useAction } from "@signet/react/core"
import { useState } from "react"
import { changedFields, type Fields, saveUnlessChanged } from "./edits.ts"

interface EditOf<Row, Form extends Fields> {
  readonly formOf: (row: Row) => Form
  /** Reads the record as it is now. */
  readonly read: () => Promise<Row>
  /** Saves these fields with the etag of the opened record, and returns the record after it. */
  readonly save: (opened: Row, form: Form, edited: readonly (keyof Form & string)[]) => Promise<Row>
  readonly onSaved: () => Promise<unknown>
}

export interface Edit<Form extends Fields> {
  readonly form: Form
  /** The fields that the person changed. Empty: nothing is saved. */
  readonly edited: readonly (keyof Form & string)[]
  readonly isSaved: boolean
  readonly save: Action<void>
  set(change: Partial<Form>): void
  /** Opens the current record, and drops what the person typed. */
  reload(): Promise<void>
}

/** @param row The record as it is opened; undefined for a new one. */
export function useEdit<Row, Form extends Fields>(row: Row, of: EditOf<Row, Form>): Edit<Form> {
  const [current, setCurrent] = useState(row)
  const opened = of.formOf(current)
  const [form, setForm] = useState(opened)
  const [isSaved, setSaved] = useState(false)
  const edited = changedFields(opened, form)
  const show = (now: Row) => {
    setCurrent(now)
    setForm(of.formOf(now))
  }
  const save = useAction(async () => {
    const update = () => of.save(current, form, edited)
    show(await saveUnlessChanged(update, { opened, read: async () => of.formOf(await of.read()) }))
    setSaved(true)
    await of.onSaved()
  })
  return {
    ...{ form, edited, isSaved, save },
    set(change) {
      setSaved(false)
      setForm({ ...form, ...change })
    },
    async reload() {
      show(await of.read())
      save.clear()
    },
  }
}
