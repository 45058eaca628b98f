package dev.signet.guard.token;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

class JsonTest {
  @TestFactory
  Stream<DynamicTest> refusesWhatIsNoJson() {
    return Stream.of(
            "", " ", "{", "[", "[1,]", "{\"a\":1,}", "{a:1}", "{'a':1}", "{\"a\"}", "[1 2]", "01", "-", "-01", "1.",
            ".5", "+1", "1e", "0x1", "NaN", "Infinity", "tru", "nullx", "\"a", "\"\n\"", "\"a\\\n\"", "\"\t\\n\"",
            "\"\\x41\"", "\"\\u00g0\"", "\"\\u\uff11\uff11\uff11\uff11\"", "[] []", "[]x", "\ufeff{}", "\u00a0{}",
            "// c\n{}", "{} \u0000", "]", "}", "[}", "{]", ",", "{\"a\":1 \"b\":2}")
        .map(
            text ->
                DynamicTest.dynamicTest(
                    Json.quote(text), () -> assertThrows(IllegalArgumentException.class, () -> Json.parse(text))));
  }

  @TestFactory
  Stream<DynamicTest> readsWhatIs() {
    return Map.<String, Object>of(
            " {\"a\" : [ 1 , -2.5e0 , 1E3 , true , false , null , {} , [] ] }\r\n\t",
            Map.of("a", java.util.Arrays.asList(1L, -2.5, 1_000L, true, false, null, Map.of(), List.of())),
            "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud800\"", "\"\\/\b\f\n\r\té\ud800",
            "9007199254740991", 9_007_199_254_740_991L,
            "9007199254740993", 9_007_199_254_740_992.0,
            "-0", 0L,
            "{\"a\":1,\"a\":2}", Map.of("a", 2L))
        .entrySet().stream()
        .map(
            one ->
                DynamicTest.dynamicTest(
                    one.getKey(), () -> assertEquals(one.getValue(), Json.parse(one.getKey()).value())));
  }

  @TestFactory
  Stream<DynamicTest> findsNamesThatAreThereTwice() {
    return Map.of(
            "{\"a\":1,\"a\":1}", true,
            "{\"a\":1,\"\\u0061\":1}", true,
            "[{\"x\":{\"a\":1,\"b\":2,\"a\":3}}]", true,
            "{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":1}]}", false)
        .entrySet().stream()
        .map(
            one ->
                DynamicTest.dynamicTest(
                    one.getKey(), () -> assertEquals(one.getValue(), Json.parse(one.getKey()).hasDuplicateNames())));
  }

  @TestFactory
  Stream<DynamicTest> nestingCostsNoStack() {
    var depth = 1_000_000;
    return Stream.of("[".repeat(depth) + "]".repeat(depth), "{\"a\":".repeat(depth) + "1" + "}".repeat(depth))
        .map(text -> DynamicTest.dynamicTest(text.substring(0, 6), () -> Json.parse(text)));
  }
}
