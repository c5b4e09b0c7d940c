// Makes gpt2_ids.txt: a hash of the ids that OpenAI's tiktoken (npm) gives for each of the test strings.
//   LOCKSTEP_WRITE_STRINGS=/tmp/strings.json build/text_test --gtest_filter='Gpt2Tokenizer.*'
//   npm install tiktoken@1.0.22 && node tests/text/make_gpt2_ids.mjs /tmp/strings.json > tests/text/gpt2_ids.txt
import { readFileSync } from "node:fs";
import { get_encoding } from "tiktoken";

const tokenizer = get_encoding("gpt2");
for (const text of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  let hash = 0x811c9dc5;
  for (const id of tokenizer.encode_ordinary(text)) hash = Math.imul(hash ^ id, 0x01000193) >>> 0;
  console.log(hash.toString(16));
}
