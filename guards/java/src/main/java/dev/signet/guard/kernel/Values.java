package dev.signet.guard.kernel;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** What members of parsed JSON are. */
public final class Values {
  private static final Pattern ID = Pattern.compile("([a-z]{3})_([0-9a-hjkmnp-tv-z]{26})");

  private Values() {}

  /** Whether it is an id of the kind: a {@code ten_} is never taken for an {@code app_}. */
  public static boolean isId(String kind, Object value) {
    if (!(value instanceof String text)) return false;
    var match = ID.matcher(text);
    return match.matches() && match.group(1).equals(kind);
  }

  /** Whether it is a text that is not empty. */
  public static boolean isText(Object value) {
    return value instanceof String text && !text.isEmpty();
  }

  /** Whether it is an integer from 0 to 2^53 - 1: the reader makes a Long of nothing else but its negatives. */
  public static boolean isCount(Object value) {
    return value instanceof Long number && number >= 0;
  }

  /** The object, or null. */
  @SuppressWarnings("unchecked")
  public static Map<String, Object> object(Object value) {
    return value instanceof Map<?, ?> map ? (Map<String, Object>) map : null;
  }

  /** The texts, or null when it is no list of texts that are not empty. */
  public static List<String> texts(Object value) {
    if (!(value instanceof List<?> list)) return null;
    var texts = new ArrayList<String>(list.size());
    for (Object one : list) {
      if (!isText(one)) return null;
      texts.add((String) one);
    }
    return texts;
  }

  /** The text, or null. */
  public static String text(Object value) {
    return value instanceof String text ? text : null;
  }
}
