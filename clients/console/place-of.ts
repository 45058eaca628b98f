/** The screen for what was typed: the prefix of an id names its kind. */
export function placeOf(asked: string): string {
  const encoded = encodeURIComponent(asked)
  if (asked.startsWith("prn_")) return `/people/${encoded}`
  if (asked.startsWith("app_")) return `/apps/${encoded}`
  if (asked.startsWith("sac_")) return `/services/${encoded}`
  if (asked.startsWith("ten_")) return `/tenants/${encoded}`
  if (/^(aud|jti|ses|grt|rol|mem|pat|inv|ctx|pcl|dlg|dpo|scr|dev)_/.test(asked)) return `/audit?target=${encoded}`
  return `/people?find=${encoded}`
}
