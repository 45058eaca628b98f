/** An object that was parsed from JSON. Its members are not checked. */
export type Json = Readonly<Record<string, unknown>>

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** True for a text that is not empty. */
export const isText = (value: unknown): value is string => typeof value === "string" && value !== ""

export const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText)

/** True for an integer from 0 to 2^53 - 1. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
