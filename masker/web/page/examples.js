// Texts to begin with, by the domain that they come from. A model without these domains begins with an empty box.

export const EXAMPLES = {
  negative: [
    "Our waitress was slow and the soup was bland.",
    "The worst pizza I have ever had.",
    "I will never come back to this place, the staff was rude.",
  ],
  positive: [
    "The staff is so friendly and the food is always fresh.",
    "Best coffee in town!",
    "We will definitely be back.",
  ],
  split: ["The film won the award. The film was shot in Rome.", "He was born in Oslo. He moved to Paris in 1920."],
  fused: ["The film, which was shot in Rome, won the award.", "He was born in Oslo and moved to Paris in 1920."],
  toxic: ["What a stupid idea, did you even read the article?", "Shut up and stop posting this garbage."],
  civil: ["I do not agree with this idea, did you read the article?", "Please stop posting this here."],
};
