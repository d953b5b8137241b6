"""A slide: one sentence, one chart, and in its foot what the sentence rests on."""
