/* CUPTI's headers include the runtime's vector types and use none of them. */
